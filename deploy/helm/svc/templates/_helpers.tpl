{{- define "svc.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "svc.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "svc.name" .) .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "svc.name" .) | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ include "svc.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "svc.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* A variable whose value is in a secret: (list NAME SECRET). */ -}}
{{- define "svc.secretVariable" -}}
{{- $secret := index . 1 -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret.name }}
      key: {{ $secret.key }}
{{- end -}}

{{- /* What the server and the migration both need. */ -}}
{{- define "svc.variables" -}}
{{ include "svc.secretVariable" (list "SVC_ADMIN_AUTH__API_KEYS" .Values.adminKeys) }}
- name: SVC_ADMIN_AUTH__ENABLED
  value: "true"
{{- with .Values.encryptionKey }}
{{ include "svc.secretVariable" (list "SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY" .) }}
{{- end }}
{{- if eq .Values.storage.kind "postgres" }}
{{ include "svc.secretVariable" (list "SVC_STORAGE__URL" .Values.storage.postgres.urlSecret) }}
- name: SVC_STORAGE__MAX_CONNECTIONS
  value: {{ .Values.storage.postgres.maxConnections | default 20 | quote }}
- name: SVC_STORAGE__AUTO_MIGRATE
  value: "false"
- name: SVC_CLUSTER__ENABLED
  value: "true"
{{ include "svc.secretVariable" (list "SVC_CLUSTER__REDIS_URL" .Values.redis.urlSecret) }}
- name: SVC_CLUSTER__INSTANCE_ID
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- else }}
- name: SVC_STORAGE__URL
  value: sqlite:/var/lib/svc/svc.db
- name: SVC_STORAGE__BACKUP_DIR
  value: /var/lib/svc/backups
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "svc.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "svc.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{- /* The pods of the Deployment and of the StatefulSet. */ -}}
{{- define "svc.pod" -}}
metadata:
  labels:
    {{- include "svc.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Another configuration, another pod.
    checksum/config: {{ .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "svc.fullname" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # The drain, the end of what runs, and what the process needs after that.
  terminationGracePeriodSeconds: {{ add .Values.shutdown.drainSeconds .Values.shutdown.forceSeconds 5 }}
  securityContext:
    {{- include "svc.podSecurity" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- if eq .Values.storage.kind "postgres" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "svc.selector" . | nindent 10 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: svc
      image: {{ include "svc.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        {{- include "svc.containerSecurity" . | nindent 8 }}
      env:
        {{- include "svc.variables" . | nindent 8 }}
        - name: SVC_SERVER__HOST
          value: 0.0.0.0
        - name: SVC_SERVER__PORT
          value: "8080"
        - name: SVC_SERVER__SHUTDOWN_DRAIN_SECS
          value: {{ .Values.shutdown.drainSeconds | quote }}
        - name: SVC_SERVER__SHUTDOWN_FORCE_TIMEOUT_SECS
          value: {{ .Values.shutdown.forceSeconds | quote }}
        - name: SVC_METRICS__ENABLED
          value: "true"
        - name: SVC_METRICS__BIND_ADDR
          value: 0.0.0.0:9090
        {{- if .Values.tls }}
        - name: SVC_SERVER__TLS__ENABLED
          value: "true"
        - name: SVC_SERVER__TLS__CERT_PATH
          value: /etc/svc/tls/tls.crt
        - name: SVC_SERVER__TLS__KEY_PATH
          value: /etc/svc/tls/tls.key
        {{- end }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8080
        - name: metrics
          containerPort: 9090
      # Health is on the port of metrics, in plain HTTP whatever the other one speaks.
      startupProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 2
        {{- if eq .Values.storage.kind "sqlite" }}
        # The pod migrates before it answers: an end on the way begins that anew.
        failureThreshold: {{ max 60 (div .Values.migration.deadlineSeconds 2) }}
        {{- else }}
        failureThreshold: 60
        {{- end }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: metrics
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 2
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: config
          mountPath: /etc/svc/svc.toml
          subPath: svc.toml
          readOnly: true
        - name: tmp
          mountPath: /tmp
        - name: state
          mountPath: /var/lib/svc
        {{- if .Values.tls }}
        - name: tls
          mountPath: /etc/svc/tls
          readOnly: true
        {{- end }}
        {{- with .Values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "svc.fullname" . }}
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.storage.kind "postgres" }}
    - name: state
      emptyDir: {}
    {{- end }}
    {{- with .Values.tls }}
    - name: tls
      secret:
        secretName: {{ .secretName }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
