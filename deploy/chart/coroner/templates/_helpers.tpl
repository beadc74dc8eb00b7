{{- define "coroner.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* A release called coroner gives objects called coroner. 52 leaves room for -agent and a pod's suffix. */}}
{{- define "coroner.fullname" -}}
{{- $name := include "coroner.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/* What selects the pods of a component: list . "server". */}}
{{- define "coroner.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "coroner.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "coroner.labels" -}}
{{- $root := index . 0 -}}
{{ include "coroner.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end }}

{{/* The reference of an image: list . .Values.server.image. */}}
{{- define "coroner.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 }}
{{- with $root.Values.image.registry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default $root.Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{- define "coroner.account" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}
{{- $own := ternary (include "coroner.fullname" $root) (printf "%s-%s" (include "coroner.fullname" $root) $component) (eq $component "server") }}
{{- default $own (index $root.Values $component).serviceAccount.name }}
{{- end }}

{{- define "coroner.watches" -}}
{{- if or .Values.apiWatch.namespaces .Values.apiWatch.nodes }}true{{ end }}
{{- end }}

{{/* Who watches the Kubernetes API: the server, or a relay where the server is elsewhere. */}}
{{- define "coroner.watcher" -}}
{{- ternary "server" "relay" .Values.server.enabled }}
{{- end }}

{{/* The server is elsewhere, and a relay tells it what the Kubernetes API says. */}}
{{- define "coroner.relays" -}}
{{- if and (not .Values.server.enabled) (include "coroner.watches" .) }}
{{- if not .Values.relay.token.existingSecret }}
{{- fail "server.enabled=false and apiWatch: a relay needs a token of its own: set relay.token.existingSecret" }}
{{- end }}true{{ end }}
{{- end }}

{{/* The server has the Kubernetes API review agents' tokens. */}}
{{- define "coroner.reviews" -}}
{{- if and .Values.tokenReview.enabled .Values.agent.enabled }}
{{- if semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version }}
{{- fail "tokenReview needs Kubernetes 1.30, which says on which node a token's pod is: set tokenReview.enabled=false and pushToken.existingSecret" }}
{{- end }}true{{ end }}
{{- end }}

{{/* The server asks the Kubernetes API. */}}
{{- define "coroner.api" -}}
{{- if or (include "coroner.watches" .) (include "coroner.reviews" .) }}true{{ end }}
{{- end }}

{{/* The chart sees to the server's TLS. */}}
{{- define "coroner.tls" -}}
{{- if and .Values.server.enabled .Values.tls.enabled (not .Values.server.web.existingSecret) }}true{{ end }}
{{- end }}

{{- define "coroner.tlsSecret" -}}
{{- default (printf "%s-tls" (include "coroner.fullname" .)) .Values.tls.existingSecret }}
{{- end }}

{{- define "coroner.scheme" -}}
{{- ternary "https" "http" (or (eq (include "coroner.tls" .) "true") .Values.server.web.tls) }}
{{- end }}

{{/* The names that the server's certificate is for, as a JSON list. */}}
{{- define "coroner.hosts" -}}
{{- $name := include "coroner.fullname" . }}
{{- $short := printf "%s.%s" $name .Release.Namespace }}
{{- $svc := printf "%s.svc" $short }}
{{- concat (list $name $short $svc (printf "%s.cluster.local" $svc) "localhost" "127.0.0.1") .Values.tls.hosts | toJson }}
{{- end }}

{{/* The address of the server in the cluster. */}}
{{- define "coroner.url" -}}
{{ include "coroner.scheme" . }}://{{ include "coroner.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.server.service.port }}
{{- end }}

{{/* Where agents and the relay push to. */}}
{{- define "coroner.serverUrl" -}}
{{- if .Values.agent.serverUrl }}{{ .Values.agent.serverUrl }}
{{- else if .Values.server.enabled }}{{ include "coroner.url" . }}
{{- else }}{{ fail "server.enabled=false: say where the server is: agent.serverUrl" }}
{{- end }}
{{- end }}

{{/* What an agent or a relay is told of the certificates of agent.tls. */}}
{{- define "coroner.clientTLS" -}}
{{- with .Values.agent.tls }}
{{- if .existingSecret }}
{{- with .ca }}
- --server.ca-file=/etc/coroner/tls/{{ . }}
{{- end }}
{{- with .cert }}
- --server.cert-file=/etc/coroner/tls/{{ . }}
{{- end }}
{{- with .key }}
- --server.key-file=/etc/coroner/tls/{{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What is watched through the Kubernetes API. */}}
{{- define "coroner.watchArgs" -}}
{{- range .Values.apiWatch.namespaces }}
- --kube.namespace={{ . }}
{{- end }}
{{- if .Values.apiWatch.ephemeralRunners }}
- --kube.ephemeral-runners
{{- end }}
{{- if .Values.apiWatch.nodes }}
- --kube.nodes
{{- end }}
{{- end }}

{{/* How a pod is placed: .Values.server, .Values.relay or .Values.agent. */}}
{{- define "coroner.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What both containers are denied. */}}
{{- define "coroner.confined" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
