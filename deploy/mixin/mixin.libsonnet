// coroner as a monitoring mixin: the same dashboards, rules and alerts that stand beside this folder, for those who
// render theirs from jsonnet. Only what is yours to say is a field of _config:
//
//   (import 'coroner/deploy/mixin/mixin.libsonnet') + { _config+:: { coronerUrl: 'https://coroner.example' } }
//
// It needs std.parseYaml (jsonnet 0.18).
local prometheus = std.parseYaml(importstr '../alerts/prometheus.yaml');
local loki = std.parseYaml(importstr '../alerts/loki.yaml');

{
  _config+:: {
    // What stands before the path of an alert's link to its list.
    coronerUrl: '',
    // What stands before docs/alerts.md in an alert's runbook_url, with a slash at its end.
    runbookUrl: '',
  },

  local config = self._config,

  local linked(rule) = rule {
    annotations+: {
      list: config.coronerUrl + super.list,
      runbook_url: config.runbookUrl + super.runbook_url,
    },
  },

  local groups(file, kind, made) = [
    group { rules: [made(rule) for rule in group.rules if std.objectHas(rule, kind)] }
    for group in file.groups
    if std.length([rule for rule in group.rules if std.objectHas(rule, kind)]) > 0
  ],

  grafanaDashboards+:: {
    'coroner-verdicts.json': import '../dashboards/verdicts.json',
    'coroner-health.json': import '../dashboards/health.json',
  },

  prometheusRules+:: { groups+: groups(prometheus, 'record', function(rule) rule) },

  prometheusAlerts+:: { groups+: groups(prometheus, 'alert', linked) },

  // For Loki's ruler: it has no rules that record.
  lokiAlerts+:: { groups+: groups(loki, 'alert', linked) },
}
