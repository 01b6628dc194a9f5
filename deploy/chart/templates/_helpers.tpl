{{/* Name of the operator's objects. */}}
{{- define "vps-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Labels that select the pods, the same as in the kustomize base: selectors of a Deployment are immutable, so Helm can take
over an installation that kubectl has made. Without the release's name, because a namespace has one operator at most: two
would share one Lease.
*/}}
{{- define "vps-operator.podLabels" -}}
app.kubernetes.io/name: vps-operator
app.kubernetes.io/component: operator
{{- end -}}

{{/* Labels of every object. */}}
{{- define "vps-operator.labels" -}}
app.kubernetes.io/name: vps-operator
app.kubernetes.io/part-of: vps-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The annotations of an object: a list of the root and of annotations that belong to this object only. */}}
{{- define "vps-operator.annotations" -}}
{{- with merge dict (index . 1 | default dict) ((index . 0).Values.commonAnnotations | default dict) -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "vps-operator.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "vps-operator.fullname" .) -}}
{{- end -}}

{{/* The operator as the API server knows it. */}}
{{- define "vps-operator.identity" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "vps-operator.serviceAccountName" . }}
{{- end -}}

{{/* The identities that the guards know as operators, as a list in CEL. */}}
{{- define "vps-operator.operators" -}}
{{- $operators := prepend .Values.guards.operators (include "vps-operator.identity" .) -}}
['{{ join "', '" $operators }}']
{{- end -}}

{{- define "vps-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The value that names the user's own ConfigMap or Secret with all settings; empty if the chart creates the ConfigMap. */}}
{{- define "vps-operator.existingSettings" -}}
{{- if .Values.existingSecret -}}existingSecret{{- else if .Values.existingConfigMap -}}existingConfigMap{{- end -}}
{{- end -}}

{{/* The variable of a setting: VPS_POLL_INTERVAL for pollInterval. */}}
{{- define "vps-operator.variable" -}}
VPS_{{ snakecase . | upper }}
{{- end -}}

{{/* A duration such as 1h30m in ms; empty for other text, which the operator refuses. */}}
{{- define "vps-operator.milliseconds" -}}
{{- if regexMatch "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$" . -}}
{{- $units := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|[hms])" . -1 -}}
{{- $unit := regexFind "[hms]+$" . -}}
{{- $sum = add $sum (mul (trimSuffix $unit . | atoi) (get $units $unit)) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}
{{- end -}}

{{- define "vps-operator.configName" -}}
{{- .Values.existingConfigMap | default (printf "%s-config" (include "vps-operator.fullname" .)) -}}
{{- end -}}
