{{/* A file of the manifests, in the namespace of the release: (list . "base/rbac.yaml") */}}
{{- define "rollout.file" -}}
{{- $root := index . 0 -}}
{{- $root.Files.Get (printf "files/%s" (index . 1)) | replace "rollout-system" $root.Release.Namespace -}}
{{- end -}}

{{- define "rollout.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
