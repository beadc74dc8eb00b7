# The server and command line:
#   docker build -t coroner .
# make images packs the same without Docker, the same bytes each time, with an SPDX document.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/coroner ./cmd/coroner
RUN go run ./deploy/release -licences coroner -out /out/licences

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/coroner /usr/bin/coroner
COPY --from=build /out/licences /usr/share/doc/coroner
USER 65532:65532
ENTRYPOINT ["/usr/bin/coroner"]
CMD ["serve"]
