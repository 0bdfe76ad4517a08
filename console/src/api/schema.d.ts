// Made by `npm run api-types` from the OpenAPI document of the server. Do not edit.

export interface paths {
    "/api/v1/admin/actors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the supervision tree and its last events */
        get: operations["listActors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/actors/{path}/restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restarts an actor, or every actor of a group; ends a quarantine */
        post: operations["restartActor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audit-logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the audit log, newest first
         * @description The list can be read on from `next_cursor`, which an `offset` excludes. For words that no index serves a call reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.
         */
        get: operations["listAuditLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/backtests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the backtests without their reports, newest first
         * @description A read-only key is refused.
         */
        get: operations["listBacktests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/backtests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reads the progress of a backtest, and its report so far
         * @description A read-only key is refused.
         */
        get: operations["getBacktest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/backtests/{id}/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a backtest within a second; the report so far is kept */
        post: operations["abortBacktest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/backups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the files in the directory of backups, newest first
         * @description Only with SQLite and outside of a cluster; 400 otherwise.
         */
        get: operations["listBackups"];
        put?: never;
        /**
         * Makes a backup of the database while it serves
         * @description The file is consistent, checked, and holds every row committed before the request. Older files beyond `storage.backup_retention_count` are deleted. Only with SQLite and outside of a cluster; 400 otherwise.
         */
        post: operations["createBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the bulk runs and backfills, newest first */
        get: operations["listBulkRuns"];
        put?: never;
        /**
         * Acts on every row that a filter selects
         * @description The run acts on the rows that match at its start, in the order of their creation. A row that has changed since then is skipped. The run goes on after the death of the node that drives it, and acts on no row twice. A third run at the same time is refused (`bulk.max_running`). An empty filter needs `"all": true`.
         */
        post: operations["startBulkRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/bulk/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the progress of a bulk run */
        get: operations["getBulkRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/bulk/{id}/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a bulk run before its next page; the rows done so far stay done */
        post: operations["abortBulkRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cache/invalidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes the cached answers of namespaces stale
         * @description Namespaces are those of `cache.namespaces` of channels. Answers in the memory of a node become stale on the node that is asked, those in a shared cache for all.
         */
        post: operations["invalidateCache"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the latest version of every channel */
        get: operations["listChannels"];
        put?: never;
        /**
         * Creates a channel with a draft as version 1
         * @description `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        post: operations["createChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the latest version of a channel */
        get: operations["getChannel"];
        /**
         * Changes the draft of a channel
         * @description `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        put: operations["updateChannel"];
        post?: never;
        /** Deletes all versions of a channel */
        delete: operations["deleteChannel"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Puts the instants of a range that a schedule missed on record, and runs them behind every other occurrence
         * @description Missed are the instants without an occurrence and those whose occurrence was skipped; what the row of a misfire sums up counts as missed. Instants that the schedule still plans by itself are left to it. A range that begins before the oldest kept occurrence is refused unless `assume_missed`, one of more than 10,000 instants always. The backfill is a bulk run: it is listed and aborted as one.
         */
        post: operations["backfillChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/backtest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs a version of a channel with its workflow over recorded runs
         * @description `request.schema` and `validation_logic` judge each recorded message; a message that they refuse is a `new-error`. The report names the guards that cannot be judged, because what they look at is not recorded. The workflow is the version of it that serves.
         */
        post: operations["startChannelBacktest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/impact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what a change of a channel would touch: its callers, and what its runs use
         * @description The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; `capped` says that there are more.
         */
        get: operations["getChannelImpact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pauses a channel, or replaces the reason and the end of its pause
         * @description The pause is a state of the served channel: it outlives restarts and other versions. Synchronous calls are refused with `CHANNEL_PAUSED`, asynchronous submissions are accepted and wait, the cursor of a schedule stands still, and no record of a topic runs.
         */
        post: operations["pauseChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the quota of a channel and its use by each key, over all nodes */
        get: operations["getChannelQuota"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resumes a channel; one that is not paused stays as it is */
        post: operations["resumeChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copies an archived version to a new version and activates it */
        post: operations["rollBackChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the guards of a channel and the refusals that this node has counted, by inner reason
         * @description A refused credential gets the same answer for every cause; here is the cause. The counts are in the memory of the node that answers and end with it.
         */
        get: operations["getChannelStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Activates the draft of a channel, or archives its active versions */
        patch: operations["changeChannelStatus"];
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tries a request against the guards of a channel: names the guard that would refuse it, and the inner reason
         * @description Nothing runs and nothing is taken: no rate is counted, no idempotency key claimed, no permit acquired, no metric written. The channel is the one that this node serves.
         */
        post: operations["testChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes an occurrence of a cron channel that is due now */
        post: operations["triggerChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the versions of a channel, newest first */
        get: operations["listChannelVersions"];
        put?: never;
        /** Copies a version of a channel to a new draft */
        post: operations["createChannelVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/{id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explains why a cron channel ran at an instant, or did not
         * @description The answer is from the ledger: the occurrence of the instant, or what kept it from being recorded. A channel without a schedule is refused with 400.
         */
        get: operations["explainSchedule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Exports every channel at one instant
         * @description The response is the body of an import. It takes the parameters of the list and has no pages.
         */
        get: operations["exportChannels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Imports a batch of channels as drafts */
        post: operations["importChannels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pauses the active channels with a tag, or those that use a connector
         * @description One audit row names all of them.
         */
        post: operations["pauseChannels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resumes the paused ones of the active channels with a tag, or of those that use a connector
         * @description One audit row names all of them.
         */
        post: operations["resumeChannels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/channels/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reports the result of a create */
        post: operations["validateChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the configuration in effect on this node, secrets struck out, each value with its source */
        get: operations["getConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the connectors with their load status */
        get: operations["listConnectors"];
        put?: never;
        /**
         * Creates a connector, which is loaded at once
         * @description `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        post: operations["createConnector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads a connector */
        get: operations["getConnector"];
        /**
         * Changes a connector, which is loaded anew at once
         * @description `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        put: operations["updateConnector"];
        post?: never;
        /** Deletes a connector */
        delete: operations["deleteConnector"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/{id}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the last calls of a connector on this node, with its breakers and its token
         * @description The calls are in the memory of the node that answers and end with it. Bodies are not kept.
         */
        get: operations["listConnectorCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/{id}/impact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what a change of a connector would touch: the workflows and channels that use it
         * @description The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; `capped` says that there are more.
         */
        get: operations["getConnectorImpact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Takes a connector into use (`active`) or out of it (`archived`) */
        patch: operations["changeConnectorStatus"];
        trace?: never;
    };
    "/api/v1/admin/connectors/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tries the system behind a connector
         * @description A system that does not answer is reported with 200 and `reachable: false`.
         */
        post: operations["testConnector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/circuit-breakers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the circuit breakers of this node */
        get: operations["listCircuitBreakers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/circuit-breakers/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Closes a circuit breaker */
        post: operations["resetCircuitBreaker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Exports every connector
         * @description The response is the body of an import once the masked secrets are filled in.
         */
        get: operations["exportConnectors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Imports a batch of connectors */
        post: operations["importConnectors"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/connectors/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reports the result of a create, and the secret references that cannot be resolved now */
        post: operations["validateConnector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/consumers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the consumers by name */
        get: operations["listConsumers"];
        put?: never;
        /**
         * Creates a consumer without keys
         * @description It serves on every node within two seconds, as every change of a consumer does.
         */
        post: operations["createConsumer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/consumers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads a consumer */
        get: operations["getConsumer"];
        put?: never;
        post?: never;
        /** Deletes a consumer with its keys */
        delete: operations["deleteConsumer"];
        options?: never;
        head?: never;
        /** Changes tags, quota or end of a consumer */
        patch: operations["changeConsumer"];
        trace?: never;
    };
    "/api/v1/admin/consumers/{name}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the keys of a consumer without their secrets, the oldest first */
        get: operations["listConsumerKeys"];
        put?: never;
        /**
         * Creates a key of a consumer
         * @description The response alone has the secret. Other keys of the consumer stay: a rotation creates the next key, hands it over, and deletes the one before. A consumer has ten keys at most.
         */
        post: operations["createConsumerKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/consumers/{name}/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Deletes a key of a consumer */
        delete: operations["deleteConsumerKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cron/occurrences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the occurrences of schedules, newest first
         * @description The list can be read on from `next_cursor`, which an `offset` excludes. For words that no index serves a call reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.
         */
        get: operations["listOccurrences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cron/occurrences/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads an occurrence */
        get: operations["getOccurrence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cron/occurrences/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancels an occurrence that has not ended
         * @description The run of one that runs is dropped on whatever node, its claim is cleared and its slot freed. It can be retried afterwards.
         */
        post: operations["cancelOccurrence"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cron/occurrences/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes another attempt at a failed, skipped or cancelled occurrence */
        post: operations["retryOccurrence"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cron/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the schedules that this node has loaded */
        get: operations["listSchedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/dev": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the project that `svc-server dev` watches, with the findings about what was saved last
         * @description Only of a server that `svc-server dev` started; any other answers 404.
         */
        get: operations["getDevProject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/engine/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reads the settings again and serves the stored definitions
         * @description A file of settings that is wrong changes nothing (400). After another failure the previous definitions go on serving.
         */
        post: operations["reloadEngine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/engine/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the channels and workflows that serve */
        get: operations["getEngineStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists failures grouped by their cause, the most frequent first
         * @description Failed traces, dead letters, failed occurrences and the Kafka records that this node holds back, each failure once. What leaves no trace is in no group: synchronous runs of channels that do not record them, and failures of earlier releases.
         */
        get: operations["listErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/errors/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the most frequent errors of the last hour by counts that each node keeps a minute each
         * @description Cheap whatever the number of failures. A count lacks what other nodes have counted in the last ten seconds, counts each attempt at accepted work, and lacks the failures of nodes whose console is off. `GET /api/v1/admin/errors` counts the failures that are stored, each once.
         */
        get: operations["listRecentErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/functions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the functions that tasks can call */
        get: operations["listFunctions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/functions/operators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the operators of expressions */
        get: operations["listOperators"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/kafka/partitions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the partitions that are assigned to this node */
        get: operations["listKafkaPartitions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/kafka/partitions/{topic}/{partition}/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Writes the record that a partition holds back to the topic of dead letters */
        post: operations["skipKafkaRecord"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams what happens on this node as server-sent events
         * @description Begins with the event `picture` (`LivePicture`), followed by `changes` (`LiveChanges`) once a second. The last event of a stream that the server ends is `end` (`LiveEnd`): the node is stopping, or the key is no longer accepted. A reader that sends the id of its last event in `Last-Event-ID` gets the events since, at most five minutes back; otherwise, and if it reads too slowly, it gets a new `picture`. 404 where the console is off, 503 beyond `server.console.max_viewers` streams.
         */
        get: operations["streamLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the nodes that share the database, youngest first */
        get: operations["listNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends a node as the signal to terminate does, so that its supervisor starts it anew
         * @description `node` is required. The node reports not ready at once, serves until `server.shutdown_drain_secs` have passed, and then ends. In a larger application only the first is done, and the host ends it.
         */
        post: operations["drainNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/packages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the receipts of all packages, by name and newest first within a name */
        get: operations["listPackages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/packages/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the current version of a package and the receipts of all its versions */
        get: operations["getPackage"];
        /**
         * Stores the receipt of a package version
         * @description An apply stores `staged` before its first change and `applied` after its last one. A version that was applied keeps its content: another hash is 409. Storing `applied` again makes the version the current one, as a rollback does at its end; at its beginning it stores that of the current version, so that other applies stop. `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        put: operations["putPackageReceipt"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the versions of all plugins, by id and newest first within an id */
        get: operations["listPlugins"];
        put?: never;
        /**
         * Creates a plugin as a draft
         * @description Its id is the name in the manifest. The component is compiled once the draft is activated.
         */
        post: operations["createPlugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/plugins/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the versions of a plugin, newest first */
        get: operations["getPlugin"];
        /** Replaces the draft of a plugin, or makes one */
        put: operations["putPluginDraft"];
        post?: never;
        /** Deletes a plugin with all versions, unless one is active */
        delete: operations["deletePlugin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/plugins/{id}/impact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what a change of a plugin would touch: routes, schedules, callers
         * @description The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; `capped` says that there are more.
         */
        get: operations["getPluginImpact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/plugins/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Activates the draft of a plugin, or archives its active version
         * @description After an activation every node compiles the component, off the way of requests; until then calls of its functions are answered with 503 `PLUGIN_COMPILING`. A plugin that workflows call cannot be archived.
         */
        patch: operations["changePluginStatus"];
        trace?: never;
    };
    "/api/v1/admin/plugins/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Exports the latest version of every plugin with its component
         * @description The response is the body of an import. A component has up to some megabytes.
         */
        get: operations["exportPlugins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/plugins/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Imports a batch of plugins as drafts */
        post: operations["importPlugins"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/recordings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the recorded runs, newest first
         * @description A read-only key is refused: recordings hold what callers sent and systems answered.
         */
        get: operations["listRecordings"];
        put?: never;
        post?: never;
        /**
         * Deletes the recordings of a channel or of a run
         * @description One of `channel` and `run_key` is required.
         */
        delete: operations["deleteRecordings"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/recordings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reads a recorded run with its calls
         * @description A read-only key is refused.
         */
        get: operations["getRecording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/schemas/{kind}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the JSON Schema of a kind of document, for editors
         * @description The same as `svc-server schema`, with the functions of the service that answers.
         */
        get: operations["getDocumentSchema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/trace-dlq": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the dead letters, newest first
         * @description The list can be read on from `next_cursor`, which an `offset` excludes. For words that no index serves a call reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.
         */
        get: operations["listDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/trace-dlq/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads a dead letter with its payload */
        get: operations["getDeadLetter"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/trace-dlq/{id}/requeue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a dead letter due at once, with all its retries again */
        post: operations["requeueDeadLetter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/trace-dlq/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Deletes dead letters that have no retry left */
        post: operations["purgeDeadLetters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/traces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists traces, newest first, without payloads
         * @description The default order, and its reverse with `order=asc`, can be read on from `next_cursor`, which an `offset` excludes. Later attempts at accepted work are left out: the work has the state of the newest one. For words that no index serves a call reads at most 20000 rows: `scanned_until` tells how far, and `next_cursor` goes on there even after an empty page.
         */
        get: operations["listTraces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/traces/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reads a trace with its result
         * @description An admin key reads every trace. The token of a submission reads the state of that one, as the data plane shows it.
         */
        get: operations["getTrace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/traces/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancels accepted work
         * @description Work that waits ends at once, and its dead letter goes with it. The run of a work that runs is dropped at its next await, and in the middle of a computation, on whatever node; nothing is begun after that. What has ended, synchronous runs and those of records are 409; the run of a schedule is cancelled by its occurrence.
         */
        post: operations["cancelTrace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/traces/{id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs the stored input of a trace again, as accepted work of its own
         * @description Only what has ended and has no dead letter that waits is run again. Accepted work and schedules always have their input, a synchronous run where its channel has `tracing.keep_input`. The rerun has a run key of its own, passes the guards of a call with its channel as the caller, has the claims of then and the secrets of now.
         */
        post: operations["rerunTrace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the endpoints, oldest first */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Registers an endpoint
         * @description The endpoint gets a signed `POST` of type `webhook.challenge`, whose `data.challenge` it must echo with a 2xx: as the member `challenge` of a JSON object, or as plain text. Until it has, it is `unverified` and gets nothing. The secret is shown in this response alone.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads an endpoint */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Deletes an endpoint
         * @description What it was to get is not sent any more.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Changes an endpoint
         * @description With another `url` the endpoint is challenged again, and gets nothing until it is verified.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the attempts at an endpoint, newest first */
        get: operations["listWebhookAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the deliveries to an endpoint, newest first; those that failed are its dead letters */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enables an endpoint that is unverified or disabled
         * @description It is challenged first; `"verify": false` enables it without.
         */
        post: operations["enableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes ended deliveries again that were accepted since an instant
         * @description Receivers see the same `webhook-id` as before. One call takes 10000 deliveries.
         */
        post: operations["replayWebhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replaces the secret of an endpoint
         * @description Messages carry a signature of each secret until the overlap ends.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a test event to an endpoint and waits for its answer */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the name under which the audit log records the caller */
        get: operations["getCaller"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the latest version of every workflow */
        get: operations["listWorkflows"];
        put?: never;
        /**
         * Creates a workflow with a draft as version 1
         * @description `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        post: operations["createWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the latest version of a workflow */
        get: operations["getWorkflow"];
        /**
         * Changes the draft of a workflow
         * @description `dry_run`: `true` answers 200 with the report of the checks and writes nothing.
         */
        put: operations["updateWorkflow"];
        post?: never;
        /** Deletes all versions of a workflow */
        delete: operations["deleteWorkflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/backtest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs a version of a workflow over recorded runs, with their answers
         * @description Nothing is called. A node makes one backtest at a time, the oldest first; another node goes on with it after the death of the first. An eleventh that has not ended is refused.
         */
        post: operations["startBacktest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/dependencies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the connectors and channels that the latest version uses */
        get: operations["getWorkflowDependencies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/impact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what a change of a workflow would touch: routes, schedules, callers, connectors
         * @description The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; `capped` says that there are more.
         */
        get: operations["getWorkflowImpact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copies an archived version to a new version and activates it */
        post: operations["rollBackWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/rollout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the traffic of the active versions, and the rollout that moves it by itself */
        get: operations["getWorkflowRollout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Changes the share of the traffic of the newer active version
         * @description With `steps` the share rises by itself while the outcomes of both versions are compared. While it does, a share is refused with 409 unless `override` is true; `state` steers it.
         */
        patch: operations["changeWorkflowRollout"];
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows how often each task of a version ran and failed on this node, and how long it took
         * @description The counts are in the memory of the node that answers. They begin with the load of the version, go on through reloads, and end with the version or the node. Runs again with a version that does not serve, and trials, are not in them.
         */
        get: operations["getWorkflowStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Activates the draft of a workflow, or archives its active versions */
        patch: operations["changeWorkflowStatus"];
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs the latest version, or a definition that is not stored, once and shows every step
         * @description Connectors and channels are called for real, unless `stubs` answer for them. A run that fails is answered with 200 and its `error`.
         */
        post: operations["testWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the versions of a workflow, newest first */
        get: operations["listWorkflowVersions"];
        put?: never;
        /** Copies a version of a workflow to a new draft */
        post: operations["createWorkflowVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Exports every workflow at one instant
         * @description The response is the body of an import. It takes the parameters of the list and has no pages.
         */
        get: operations["exportWorkflows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Imports a batch of workflows as drafts */
        post: operations["importWorkflows"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workflows/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reports the result of a create */
        post: operations["validateWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data/{channel}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Runs a channel and waits for the result
         * @description The body is the payload, the query and the headers are metadata. A channel may take another body, shape the response with another status, and answer with error bodies of its own.
         */
        get: operations["runChannelByGet"];
        /**
         * Runs a channel and waits for the result
         * @description The body is the payload, the query and the headers are metadata. A channel may take another body, shape the response with another status, and answer with error bodies of its own.
         */
        put: operations["runChannelByPut"];
        /**
         * Runs a channel and waits for the result
         * @description The body is the payload, the query and the headers are metadata. A channel may take another body, shape the response with another status, and answer with error bodies of its own.
         */
        post: operations["runChannel"];
        /**
         * Runs a channel and waits for the result
         * @description The body is the payload, the query and the headers are metadata. A channel may take another body, shape the response with another status, and answer with error bodies of its own.
         */
        delete: operations["runChannelByDelete"];
        options?: never;
        head?: never;
        /**
         * Runs a channel and waits for the result
         * @description The body is the payload, the query and the headers are metadata. A channel may take another body, shape the response with another status, and answer with error bodies of its own.
         */
        patch: operations["runChannelByPatch"];
        trace?: never;
    };
    "/api/v1/data/{channel}/async": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accepts work for a channel
         * @description The run is accepted once it is stored. `Location` is the address of its state.
         */
        post: operations["submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data/{channel}/async/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reads the state of a submission
         * @description Answers whatever the state is, with `retry-after` until it has ended. An unknown id and a token that does not fit are the same 404.
         */
        get: operations["getSubmission"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the endpoints of the consumer */
        get: operations["listOwnWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data/webhooks/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the attempts at an endpoint of the consumer */
        get: operations["listOwnWebhookAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes ended deliveries to an endpoint of the consumer again */
        post: operations["replayOwnWebhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a test event to an endpoint of the consumer */
        post: operations["testOwnWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns this document */
        get: operations["getOpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows this document as a page */
        get: operations["getDocumentation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a script, style sheet or picture of the page */
        get: operations["getDocumentationFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the state of every component
         * @description An admin key adds the details. A degraded node answers 200; only a lost database is a 503.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reports that the process runs */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns everything measured, as Prometheus text
         * @description Served if `metrics.enabled` is on and `metrics.bind_addr` names no listener of its own. OpenMetrics 1.0.0 with exemplars for those whose `Accept` names it.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reports to a balancer if the node takes requests */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The share of the traffic of an active version. */
        ActiveShare: {
            /**
             * Format: int64
             * @description Its share in percent.
             */
            rollout_percentage: number;
            /**
             * Format: int64
             * @description The version.
             */
            version: number;
        };
        /** @description A lifecycle event of a node. */
        ActorEvent: {
            /**
             * Format: int64
             * @description The delay in milliseconds, of `restart_scheduled`.
             */
            after_ms?: number;
            /**
             * Format: date-time
             * @description Time of the event.
             */
            at: string;
            /**
             * @description `started`, `exited`, `restart_scheduled`, `quarantined`, `released`, `draining`, `stopped`, `replaced` or
             *     `escalated`.
             */
            event: string;
            /** @description The end of the instance, of `exited`. */
            exit?: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Number of the instance concerned; 0 for a group.
             */
            generation: number;
            /** @description The path of the node. */
            path: string;
            /** @description The reason, of `quarantined` and `escalated`. */
            reason?: string;
            /** @description Type names of the last messages, oldest first, of `exited`. */
            recent?: string[];
            /**
             * Format: int64
             * @description Sequence number, from 1.
             */
            seq: number;
        };
        /** @description A node of the supervision tree. */
        ActorNode: {
            /**
             * Format: int64
             * @description Age of the current message in milliseconds; `null` when idle.
             */
            busy_ms: number | null;
            /** @description Name of the connector that the node runs for. */
            connector?: string;
            /** @description The fingerprint of its configuration. */
            fingerprint: string | null;
            /**
             * Format: int64
             * @description Number of the instance that runs or ran last; 0 before the first.
             */
            generation: number;
            /**
             * Format: int64
             * @description Messages handled over the life of the node.
             */
            handled: number;
            /** @description Type name of the message being handled. */
            handling: string | null;
            /** @description `actor` or `group`. */
            kind: string;
            /** @description The end of the last instance. */
            last_exit: string | null;
            /** @description Maximum number of calls in flight. */
            mailbox_bound: number;
            /** @description Calls in flight. */
            mailbox_depth: number;
            /** @description Greatest number of calls that were ever in flight. */
            mailbox_high_water: number;
            /** @description Paths of the nodes it needs. */
            needs: string[];
            /** @description The path of the node. */
            path: string;
            /** @description The reason of the quarantine. */
            quarantine_reason: string | null;
            /**
             * Format: int64
             * @description Restarts over the life of the node.
             */
            restarts: number;
            /**
             * Format: int64
             * @description Rest of the delay before a restart, in milliseconds.
             */
            retry_in_ms: number | null;
            /** @description `starting`, `running`, `restarting`, `quarantined`, `draining` or `stopped`. */
            state: string;
            /** @description Name of the thread that the node runs on. */
            thread: string | null;
            /**
             * Format: int64
             * @description Age of the running instance in milliseconds; 0 when none runs.
             */
            uptime_ms: number;
        };
        ActorNodeResponse: {
            data: components["schemas"]["ActorNode"];
        };
        /** @description The supervision tree, or the part of a large one that does not run. */
        ActorsHealth: {
            /** @description The nodes. */
            nodes: components["schemas"]["ActorNode"][];
            /** @description Number of the nodes that run, if some were left out. */
            running?: number;
            /** @description Number of all nodes, if some were left out. */
            total?: number;
            /** @description `true` if nodes were left out. */
            truncated?: boolean;
        };
        /** @description The supervision tree and its last events. */
        ActorTree: {
            /** @description The last lifecycle events, oldest first. */
            history: components["schemas"]["ActorEvent"][];
            /** @description Every node, depth first. */
            nodes: components["schemas"]["ActorNode"][];
        };
        ActorTreeResponse: {
            data: components["schemas"]["ActorTree"];
        };
        /** @description An entry of the audit log. */
        AuditLogEntry: {
            /** @description The action, such as `create` or `status_active`. */
            action: string;
            /**
             * @description Facts of the change: of a definition `version` and `content_hash` `{before, after}`, of what a workflow serves
             *     `rollout_percentage` too; `null` if there are none.
             */
            change: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: date-time
             * @description Time of the change.
             */
            created_at: string;
            /**
             * @description Details of the change: a string that holds a JSON object. It tells the origin of the request (`request_id`,
             *     `client_ip`, `user_agent`, `change_context`) and has the members of `change`.
             */
            details: string | null;
            /** @description Id of the entry. */
            id: string;
            /**
             * @description The caller: the name of an admin key, or the first 12 hexadecimal digits of its SHA-256; `anonymous` where no key is
             *     asked for. Entries of earlier releases have `key-` and 16 digits.
             */
            principal: string;
            /** @description The id of the changed resource. */
            resource_id: string;
            /** @description The type of the changed resource, such as `workflow` or `engine`. */
            resource_type: string;
        };
        /** @description A page of the audit log. */
        AuditLogEntryPage: {
            /** @description The rows of the page. */
            data: components["schemas"]["AuditLogEntry"][];
            /**
             * Format: int64
             * @description The applied limit.
             */
            limit: number;
            /** @description Cursor of the next page, if more rows may follow. */
            next_cursor?: string;
            /**
             * Format: int64
             * @description The applied offset.
             */
            offset: number;
            /**
             * Format: date-time
             * @description The instant up to which rows were read, if that many were read that the page is not full.
             */
            scanned_until?: string;
            /**
             * Format: int64
             * @description Number of matching rows on all pages, but for `include_total=false`.
             */
            total?: number;
        };
        /** @description The instants that a backfill would put on record. */
        BackfillDryRun: {
            /** @description The instants, ascending. */
            instants: string[];
            /** @description Their number. */
            planned: number;
        };
        BackfillDryRunResponse: {
            data: components["schemas"]["BackfillDryRun"];
        };
        /** @description A range of instants of a schedule that are to be made up for. */
        BackfillRequest: {
            /** @description `true` to take instants before the oldest kept occurrence as missed. */
            assume_missed?: boolean;
            /** @description `true` to list the instants, and to do nothing. */
            dry_run?: boolean;
            /**
             * Format: date-time
             * @description The first instant, inclusive.
             */
            from: string;
            /**
             * Format: int32
             * @description Occurrences of the backfill that may be open at the same time, 1 unless given.
             */
            max_parallel?: number;
            /**
             * Format: date-time
             * @description The last instant, inclusive.
             */
            until: string;
        };
        /** @description A backtest. */
        BacktestDetail: {
            /** @description Id of the workflow or channel. */
            definition: string;
            /**
             * Format: int64
             * @description Recorded runs so far.
             */
            done: number;
            /**
             * Format: date-time
             * @description Time of its end.
             */
            ended_at?: string;
            /** @description Its id. */
            id: string;
            /** @description `workflow` or `channel`. */
            kind: string;
            /**
             * Format: int64
             * @description Maximum number of recorded runs.
             */
            limit: number;
            /** @description The node that makes it, or did last. */
            node: string | null;
            /** @description The reason for which it failed. */
            reason?: string;
            /**
             * @description The report so far: `{runs, kinds, groups: [{kind, subject, runs, samples}], differing, shortened}`, of a channel
             *     also `guards: {judged, not_judged}`. Not in lists.
             */
            report?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description Time of its start.
             */
            started_at: string;
            /** @description The principal that started it. */
            started_by: string;
            /**
             * @description `pending` until a node takes it, `running`; `aborting` until its node has noticed; `aborted`, `completed` or
             *     `failed` once it has ended.
             */
            state: string;
            /** @description The filter, with an end, and the paths that are not compared: `{filter, ignore}`. */
            terms: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description The version that runs.
             */
            version: number;
        };
        BacktestDetailPage: {
            data: components["schemas"]["BacktestDetail"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        BacktestDetailResponse: {
            data: components["schemas"]["BacktestDetail"];
        };
        /** @description A backtest that is to be made. */
        BacktestRequest: {
            /**
             * @description The recordings, by the words of their list: `channel`, `run_key`, `version`, `outcome`, `since`, `until`, the
             *     last two as instants or times ago such as `-1d`. Those of the workflow, or of the channel.
             */
            filter?: {
                [key: string]: unknown;
            };
            /**
             * @description Paths in `data`, `errors`, `input`, `status`, `headers` or `body` that are not compared, such as
             *     `input.params[1]`.
             */
            ignore?: string[];
            /**
             * Format: int64
             * @description Maximum number of recorded runs, the newest first; 1000 unless given, 100000 at most.
             */
            limit?: number;
            /** @description `draft`, as without it, or the number of a version. */
            version?: {
                [key: string]: unknown;
            };
        };
        /** @description A backtest that was put on record. */
        BacktestStarted: {
            /** @description Its id. */
            id: string;
        };
        BacktestStartedResponse: {
            data: components["schemas"]["BacktestStarted"];
        };
        /** @description A file in the directory of backups. */
        BackupFile: {
            /** @description Name of the file. */
            filename: string;
            /**
             * Format: date-time
             * @description Instant at which the file was written.
             */
            modified_at: string;
            /**
             * Format: int64
             * @description Size of the file in bytes.
             */
            size_bytes: number;
        };
        BackupFileList: {
            data: components["schemas"]["BackupFile"][];
        };
        /** @description The circuit breakers of a node. */
        BreakerMap: {
            /** @description The state by `channel:connector`: `closed`, `open` or `half_open`. */
            breakers: {
                [key: string]: string;
            };
            /** @description `true` if circuit breakers are on. */
            enabled: boolean;
            /** @description The breakers of hosts whose addresses messages compute, but for the closed ones. They cannot be reset. */
            hosts?: components["schemas"]["HostBreakerState"][];
            /** @description The node that answers. */
            instance_id: string;
            /** @description The reach of a breaker: `node`. */
            scope: string;
        };
        BreakerMapResponse: {
            data: components["schemas"]["BreakerMap"];
        };
        /** @description The result of the reset of a circuit breaker. */
        BreakerReset: {
            /** @description `true` if this node has the breaker. */
            found_on_this_node: boolean;
            /** @description Key of the breaker: `channel:connector`. */
            key: string;
            /** @description Always `true`. */
            reset: boolean;
        };
        BreakerResetResponse: {
            data: components["schemas"]["BreakerReset"];
        };
        /** @description The rows that a bulk run would act on. */
        BulkDryRun: {
            /**
             * Format: int64
             * @description Number of the rows that match.
             */
            matched: number;
            /** @description The oldest of them, at most twenty. */
            samples: components["schemas"]["BulkSample"][];
        };
        BulkDryRunResponse: {
            data: components["schemas"]["BulkDryRun"];
        };
        /** @description A row at which the action failed. */
        BulkError: {
            /** @description Id of the row. */
            id: string;
            /** @description The reason. */
            message: string;
        };
        /** @description The body of the request to pause several channels. */
        BulkPauseRequest: {
            /** @description The channels. */
            filter: components["schemas"]["ChannelFilterRequest"];
            /** @description The reason, for operators; at most 1000 characters. */
            reason: string;
            /** @description Time at which the channels resume by themselves, RFC 3339; without it an operator must resume them. */
            until?: string | null;
        };
        /** @description An action on many rows. */
        BulkRequest: {
            /**
             * @description The action on each row; `backfill` has a request of its own.
             * @enum {string}
             */
            action: "requeue" | "purge" | "retry" | "cancel" | "rerun" | "backfill";
            /** @description `true` to permit an empty filter, which selects every row. */
            all?: boolean;
            /** @description `true` to show the number of the rows and some of them, and to do nothing. */
            dry_run?: boolean;
            /** @description The words of the list of that kind, each with a value or a list of values. */
            filter?: {
                [key: string]: unknown;
            };
            /**
             * @description The kind of the rows.
             * @enum {string}
             */
            kind: "dead_letters" | "occurrences" | "traces";
            /**
             * Format: int32
             * @description Rows a second, 500 unless given; 0 for no pace.
             */
            rate_per_second?: number;
        };
        /** @description The body of the request to resume several channels. */
        BulkResumeRequest: {
            /** @description The channels. */
            filter: components["schemas"]["ChannelFilterRequest"];
            /** @description The reason, for the audit log. */
            reason?: string | null;
        };
        /** @description The progress of a bulk run. */
        BulkRun: {
            /**
             * @description The action on each row; `backfill` has a request of its own.
             * @enum {string}
             */
            action: "requeue" | "purge" | "retry" | "cancel" | "rerun" | "backfill";
            /**
             * Format: int64
             * @description Number of the rows on which it acted.
             */
            done: number;
            /**
             * Format: date-time
             * @description Its end.
             */
            ended_at: string | null;
            /** @description The first failures, at most a hundred. */
            errors: components["schemas"]["BulkError"][];
            /**
             * Format: int64
             * @description Number of the rows at which the action failed.
             */
            failed: number;
            /** @description The filter, with instants in place of times ago; of a backfill the channel and the range. */
            filter: {
                [key: string]: unknown;
            };
            /** @description Its id. */
            id: string;
            /**
             * @description The kind of the rows.
             * @enum {string}
             */
            kind: "dead_letters" | "occurrences" | "traces";
            /**
             * Format: int64
             * @description Number of the rows that matched at its start.
             */
            matched: number;
            /** @description The node that drives it, or did last. */
            node: string | null;
            /**
             * Format: int64
             * @description Rows a second; 0 for no pace.
             */
            rate_per_second: number;
            /** @description The reason of a run that failed. */
            reason: string | null;
            /**
             * Format: int64
             * @description Number of the rows that changed since they matched.
             */
            skipped: number;
            /**
             * Format: date-time
             * @description Its start by the clock of the database. It acts on rows that matched then.
             */
            started_at: string;
            /** @description The principal that started it. */
            started_by: string;
            /**
             * @description `aborting` until the driver of the run has noticed.
             * @enum {string}
             */
            state: "running" | "aborting" | "aborted" | "completed" | "failed";
        };
        BulkRunPage: {
            data: components["schemas"]["BulkRun"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        BulkRunResponse: {
            data: components["schemas"]["BulkRun"];
        };
        /** @description A row that a bulk run would act on. */
        BulkSample: {
            /** @description Name of the channel. */
            channel: string;
            /**
             * Format: date-time
             * @description Instant at which the row was written.
             */
            created_at: string;
            /** @description Reason of its failure, if the list shows it. */
            error: string | null;
            /** @description Its id. */
            id: string;
            /** @description Its status; `null` for a dead letter. */
            status: string | null;
        };
        /** @description A bulk run that began. */
        BulkStarted: {
            /** @description Id of the run. */
            id: string;
            /** @description Number of instants; of a backfill alone. */
            planned?: number;
        };
        BulkStartedResponse: {
            data: components["schemas"]["BulkStarted"];
        };
        /** @description The namespaces whose cached answers become stale. */
        CacheInvalidationRequest: {
            /** @description The namespaces, 64 at most. */
            namespaces: string[];
        };
        /** @description The caller as the audit log knows it. */
        CallerIdentity: {
            /** @description `full`, or `read_only` for a key that may only read. */
            access: string;
            /** @description The first 12 hexadecimal digits of the SHA-256 of the key; `null` where no key is asked for. */
            key_id: string | null;
            /** @description The name under which the changes of the caller are recorded. */
            principal: string;
        };
        CallerIdentityResponse: {
            data: components["schemas"]["CallerIdentity"];
        };
        /** @description The state of a rollout that moves by itself. */
        CanaryStatus: {
            /**
             * Format: int64
             * @description The newer version.
             */
            canary_version: number;
            /**
             * Format: date-time
             * @description Begin of the rollout.
             */
            created_at: string;
            /** @description The figures of the last look. */
            figures: {
                [key: string]: unknown;
            } | null;
            /** @description The limits. */
            gate: components["schemas"]["GateTerms"];
            /** @description Id of the rollout. */
            id: string;
            /**
             * Format: int64
             * @description Length of a step in seconds.
             */
            interval_secs: number;
            /** @description Name of the channel that gets a report of a rollback. */
            on_rollback: string | null;
            /** @description The reason of the state. */
            reason: string | null;
            /** @description True if the newer version takes no traffic, and runs every message after the older one did. */
            shadow: boolean;
            shadows: null | components["schemas"]["ShadowStatus"];
            /**
             * Format: int64
             * @description The older version.
             */
            stable_version: number;
            /** @description `watching`, `paused`, `promoted`, `rolled_back` or `aborted`. */
            state: string;
            /**
             * Format: int64
             * @description Index of the present step, from 0.
             */
            step: number;
            /**
             * Format: date-time
             * @description Begin of the step.
             */
            step_since: string;
            /** @description The shares of the steps in percent. */
            steps: number[];
            /**
             * Format: date-time
             * @description Time of its last change.
             */
            updated_at: string;
        };
        /** @description A function that tasks can call. */
        CatalogueEntry: {
            /** @description Other names that it is accepted by. */
            aliases: string[];
            /** @description `connector`, `control`, `data`, `compute` or `utility`. */
            category: string;
            /** @description A description for people. */
            description: string;
            /** @description Its inputs; absent for built-ins unless `all=true`. */
            input_fields?: components["schemas"]["FunctionInput"][];
            /** @description Name of the function. */
            name: string;
            /** @description The application that defines it. */
            plugin?: components["schemas"]["FunctionPlugin"];
            /** @description `pure`, `read`, `idempotent_write`, `unsafe_write` or `depends_on` with the deciding input. */
            retry_safety: string;
            /** @description The part of the service that defines it. */
            source: string;
        };
        CatalogueEntryList: {
            data: components["schemas"]["CatalogueEntry"][];
        };
        /** @description A version of a channel. Secrets of its configuration are masked. */
        Channel: {
            /**
             * Format: int64
             * @description Number of the version that serves, in lists and in the read of the latest version; of several the one with the
             *     largest share of the traffic. Absent where none serves.
             */
            active_version?: number;
            /** @description Id, which all versions share. */
            channel_id: string;
            /**
             * @description The delivery mode.
             * @enum {string}
             */
            channel_type: "sync" | "async";
            /** @description Guards and other settings. */
            config: {
                [key: string]: unknown;
            };
            /** @description Consumer group. */
            consumer_group: string | null;
            /** @description `sha256:` and the hash of the content with its secrets; status and times do not affect it. */
            content_hash: string;
            /**
             * Format: date-time
             * @description Time of creation of the version.
             */
            created_at: string;
            /** @description Description, free text. */
            description: string | null;
            /** @description HTTP methods of the route, in upper case. */
            methods: string[] | null;
            /** @description The name that callers use; unique among channels. */
            name: string;
            /** @description The pause, in lists and in the read of the latest version. Absent for a channel that is not paused. */
            paused?: components["schemas"]["ChannelPause"];
            /**
             * Format: int64
             * @description Priority among routes; the highest matches first.
             */
            priority: number;
            /**
             * @description The transport that brings messages.
             * @enum {string}
             */
            protocol: "rest" | "http" | "kafka" | "cron";
            /** @description The reason of its quarantine on this node, in lists and in the read of the latest version. Absent without one. */
            quarantined?: string;
            /** @description Route pattern. */
            route_pattern: string | null;
            /**
             * @description The lifecycle status of the version.
             * @enum {string}
             */
            status: "draft" | "active" | "archived";
            /** @description Labels. */
            tags: string[];
            /** @description Topic of the message broker. */
            topic: string | null;
            /** @description Settings of the transport, such as the schedule of a cron channel. */
            transport_config: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description Time of the last change of the row.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Number of the version, from 1.
             */
            version: number;
            /** @description Id of the workflow to run. */
            workflow_id: string | null;
        };
        /** @description The selection of active channels, by a tag or by a connector that they use. */
        ChannelFilterRequest: {
            /** @description The name of a connector that the channels or their workflows name. */
            connector?: string | null;
            /** @description A tag of the channels. */
            tag?: string | null;
        };
        ChannelList: {
            data: components["schemas"]["Channel"][];
        };
        ChannelPage: {
            data: components["schemas"]["Channel"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The pause of a channel. */
        ChannelPause: {
            /** @description The principal that paused it, or `on_repeated_failure`. */
            by: string;
            /** @description The reason. */
            reason: string;
            /**
             * Format: date-time
             * @description Time since which the channel is paused.
             */
            since: string;
            /**
             * Format: date-time
             * @description Time at which it resumes by itself; `null` if an operator must resume it.
             */
            until: string | null;
        };
        /** @description A channel that a request paused or resumed. */
        ChannelPauseStatus: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description The pause; absent for a channel that was resumed. */
            paused?: components["schemas"]["ChannelPause"];
        };
        ChannelPauseStatusList: {
            data: components["schemas"]["ChannelPauseStatus"][];
        };
        /** @description The quota of a channel and its use, over all nodes. */
        ChannelQuota: {
            /** @description Id of the channel. */
            channel_id: string;
            /** @description The keys with requests in the current window, the most used first, a thousand at most. */
            keys: components["schemas"]["QuotaKeyUse"][];
            /**
             * Format: int64
             * @description Requests of one key within the window; `null` for a channel without a quota on the node that answers.
             */
            limit: number | null;
            /** @description The length of the window: `minute`, `hour`, `day` or `month`. */
            per: string | null;
            /** @description The place of the window: `calendar` or `sliding`. */
            window: string | null;
        };
        ChannelQuotaResponse: {
            data: components["schemas"]["ChannelQuota"];
        };
        ChannelResponse: {
            data: components["schemas"]["Channel"];
        };
        /** @description The channels that do not serve as usual. */
        ChannelsHealth: {
            /** @description The paused channels. A pause is an order, and degrades nothing. */
            paused?: components["schemas"]["PausedName"][];
            /** @description The channels in quarantine. */
            quarantined: components["schemas"]["QuarantinedName"][];
        };
        /** @description The guards of a channel on one node, and the refusals that the node has counted since it serves the channel. */
        ChannelStats: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description Messages that may begin on the node now; `null` without `backpressure`. */
            free_permits: number | null;
            /**
             * @description The guards that a request meets, in their order, by their keys in the configuration of the channel. `shape` is the
             *     limit on the width of objects and lists.
             */
            guards: string[];
            /** @description Id of the node that answers; its memory has the counts, and each node has its own. */
            node: string;
            /** @description The reason of a quarantine on the node. */
            quarantined: string | null;
            /** @description The refusals by guard, status and inner reason, the last seen first. */
            refusals: components["schemas"]["RefusalCount"][];
            /** @description `true` if the node serves the channel. */
            served: boolean;
            /**
             * Format: date-time
             * @description The time since which the node counts.
             */
            since: string | null;
            /**
             * Format: int64
             * @description The version that the node serves.
             */
            version: number | null;
        };
        ChannelStatsResponse: {
            data: components["schemas"]["ChannelStats"];
        };
        /**
         * @description The runs of a channel that began within the time and have ended. Runs without a trace are not among them, nor calls
         *     by workflows, which are part of the run of the caller.
         */
        ChannelTraffic: {
            /** @description `true` if there are more runs than are counted: 20,000 of a status and origin. */
            capped: boolean;
            /**
             * Format: int64
             * @description Number of those that failed.
             */
            failed: number;
            /**
             * Format: double
             * @description The 95th percentile of the durations of the newest 500 runs, in milliseconds.
             */
            p95_ms: number | null;
            /**
             * Format: int64
             * @description Number of runs; each attempt at accepted work is one.
             */
            runs: number;
        };
        /** @description The body of an update of a draft. An absent or `null` member keeps its value (`null` removes `description`); an empty text or list clears it. `******` keeps the stored secret at the same place. Read-only members are ignored. */
        ChannelUpdate: {
            /** @description guards and shaping */
            config?: {
                [key: string]: unknown;
            } | null;
            /** @description the consumer group that reads the topic; without it `kafka.group_id` */
            consumer_group?: string | null;
            /** @description free text, at most 2048 bytes */
            description?: string | null;
            /** @description methods of the route; for `rest` and `http` */
            methods?: string[] | null;
            /** @description the name that callers use; unique among channels */
            name?: string | null;
            /**
             * Format: int64
             * @description the highest matches first
             */
            priority?: number | null;
            /** @description path below the data prefix; for `rest` and `http` */
            route_pattern?: string | null;
            /** @description labels, for lists and exports */
            tags?: string[] | null;
            /** @description the topic; for `kafka` */
            topic?: string | null;
            /** @description the schedule of a `cron` channel; free otherwise */
            transport_config?: {
                [key: string]: unknown;
            } | null;
            /** @description id of the workflow that runs */
            workflow_id?: string | null;
        };
        /** @description The report of the validation of a channel. */
        ChannelValidation: {
            /** @description Problems for which a create would be refused. */
            errors: components["schemas"]["Issue"][];
            /** @description The next instants of the schedule. */
            next_fires?: string[];
            /** @description `true` if a create would not be refused. */
            valid: boolean;
            /** @description Problems for which it would not be refused. */
            warnings: components["schemas"]["Issue"][];
        };
        ChannelValidationResponse: {
            data: components["schemas"]["ChannelValidation"];
        };
        ChannelWarnedResponse: {
            data: components["schemas"]["Channel"];
            /** @description Problems that do not prevent the request; absent if there are none. */
            warnings?: components["schemas"]["Issue"][];
        };
        /** @description The clock of the database, compared with that of the node. */
        ClockComparison: {
            /**
             * Format: date-time
             * @description Time of the database.
             */
            database: string;
            /** @description `true` if they differ by more than a second. */
            is_off: boolean;
            /**
             * Format: int64
             * @description Milliseconds by which the clock of the node is ahead of it; 0 if the difference is less than the time of
             *     the answer.
             */
            offset_ms: number;
        };
        /** @description A Redis server of the cluster that takes no writes. */
        ClusterRedisHealth: {
            /** @description The reason. */
            reason: string;
        };
        /** @description A connector. Secrets of its configuration are masked. */
        Connector: {
            /** @description The configuration; `null` if the stored one cannot be read. */
            config: {
                [key: string]: unknown;
            } | null;
            /** @description The configuration as a string that holds JSON; empty if the stored one cannot be read. */
            config_json: string;
            /** @description The type of the external system. */
            connector_type: string;
            /** @description `sha256:` and the hash of the content with its secrets; empty if the stored configuration cannot be read. */
            content_hash: string;
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string;
            /** @description `true` if the connector is to be loaded. */
            enabled: boolean;
            /** @description Id of the connector. */
            id: string;
            /** @description Reason of a failed load. */
            load_error?: string;
            /** @description Step of the load that failed. */
            load_error_stage?: string;
            /** @description `loaded`, `failed` or `disabled` on this node; absent until the node learns of the connector. */
            load_status?: string;
            /** @description Unique name; tasks refer to the connector by it. */
            name: string;
            /** @description Tags, by which lists are filtered. */
            tags: string[];
            /**
             * Format: date-time
             * @description Time of the last change.
             */
            updated_at: string;
        };
        /** @description A circuit breaker of a connector. */
        ConnectorBreakerState: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Its key, by which it is reset. */
            key: string;
            /** @description `closed`, `open` or `half_open`. */
            state: string;
        };
        /** @description A call of a connector. Bodies are not kept. */
        ConnectorCall: {
            /**
             * Format: int32
             * @description Attempts that were made; 0 if the circuit breaker was open.
             */
            attempts: number;
            /** @description The channel whose run made it; `_none` for a trial. */
            channel: string;
            /** @description The code of its error; `dropped` if its run ended first. */
            code: string | null;
            /**
             * Format: date-time
             * @description The time of its end.
             */
            ended_at: string;
            /** @description The task function that made it; `guard` for a guard of the channel. */
            function: string;
            /**
             * Format: int32
             * @description The status of an HTTP answer that was an error.
             */
            http_status: number | null;
            /**
             * Format: int64
             * @description Its duration in milliseconds, with everything it tried again.
             */
            ms: number;
            /** @description `true` if it succeeded. */
            ok: boolean;
            /** @description The part of the system that was called: method and path without the query, topic or collection. */
            target: string | null;
        };
        /** @description The last calls of a connector on one node, and what the node knows of the system behind it. */
        ConnectorCalls: {
            /** @description The circuit breakers of the connector, one for each channel that called it. */
            breakers: components["schemas"]["ConnectorBreakerState"][];
            /** @description The last 50 calls, the newest first. */
            calls: components["schemas"]["ConnectorCall"][];
            /** @description Id of the connector. */
            id: string;
            /** @description The result of the last load on the node: `loaded`, `failed` or `disabled`; `null` for one that it has not seen. */
            load_status: string | null;
            /** @description Name of the connector. */
            name: string;
            /** @description Id of the node that answers; its memory has the calls, and each node has its own. */
            node: string;
            pool: null | components["schemas"]["ConnectorPool"];
            token: null | components["schemas"]["ConnectorTokenState"];
        };
        ConnectorCallsResponse: {
            data: components["schemas"]["ConnectorCalls"];
        };
        /** @description A connector that a workflow uses. */
        ConnectorDependency: {
            /** @description Name of the connector. */
            connector: string;
            /** @description The function that calls it. */
            function: string;
        };
        /** @description A connector as an export holds it. */
        ConnectorExport: {
            /** @description The configuration; `null` if the stored one cannot be read. */
            config: {
                [key: string]: unknown;
            } | null;
            /** @description The type of the external system. */
            connector_type: string;
            /** @description `sha256:` and the hash of the content with its secrets. */
            content_hash: string;
            /** @description `true` if the connector is to be loaded. */
            enabled: boolean;
            /** @description Id of the connector. */
            id: string;
            /** @description Unique name. */
            name: string;
            /** @description Tags, by which lists are filtered. */
            tags: string[];
        };
        ConnectorExportList: {
            data: components["schemas"]["ConnectorExport"][];
        };
        ConnectorPage: {
            data: components["schemas"]["Connector"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The calls in progress of a connector on one node. */
        ConnectorPool: {
            /** @description Path of the actor in the supervision tree. */
            actor: string;
            /** @description Most calls in progress. */
            bound: number;
            /** @description The most that ever were. */
            high_water: number;
            /** @description Calls in progress. */
            in_flight: number;
            /** @description State of the actor. */
            state: string;
        };
        /** @description The circuit breakers of a node, and the connectors that could not be loaded. */
        ConnectorsHealth: {
            /** @description The reach of a breaker: `node`. */
            circuit_breaker_scope: string;
            /** @description The state by `channel:connector`. */
            circuit_breakers: {
                [key: string]: string;
            };
            /** @description The connectors that could not be loaded. */
            failed_to_load: components["schemas"]["FailedConnector"][];
        };
        /** @description The token of a connector. */
        ConnectorTokenState: {
            /** @description The reason for which the last request got no token. */
            error: string | null;
            /**
             * Format: date-time
             * @description End of its life; `null` while there is no token, because no call needed one yet or none was obtained.
             */
            expires_at: string | null;
        };
        /** @description The body of an update. An absent member keeps its value; `config` replaces the stored one, `******` in it keeps the stored secret at the same place. Read-only members are ignored. */
        ConnectorUpdate: {
            /** @description address, credentials and limits */
            config?: {
                [key: string]: unknown;
            } | null;
            /** @description the system */
            connector_type?: string | null;
            /** @description a disabled connector is not loaded */
            enabled?: boolean | null;
            /** @description the name that tasks use; unique among connectors */
            name?: string | null;
            /** @description labels, for lists and exports */
            tags?: string[] | null;
        };
        ConnectorWarnedResponse: {
            data: components["schemas"]["Connector"];
            /** @description Problems that do not prevent the request; absent if there are none. */
            warnings?: components["schemas"]["Issue"][];
        };
        /** @description A consumer. */
        Consumer: {
            /**
             * Format: date-time
             * @description Time of its creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time from which on it is refused; `null` if it does not end.
             */
            expires_at: string | null;
            /** @description Its keys without their secrets, the oldest first; those that have expired are among them. */
            keys: components["schemas"]["ConsumerKey"][];
            /** @description Its name. */
            name: string;
            quota: null | components["schemas"]["ConsumerQuota"];
            /** @description Words by which channels accept it. */
            tags: string[];
            /**
             * Format: date-time
             * @description Time of its last change; that of a key is none.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Requests of the current window of the quota, those that other nodes have reserved included; only in the response
             *     about one consumer.
             */
            used?: number;
        };
        /** @description The body of the request that changes a consumer. Absent members stay as they are. */
        ConsumerChange: {
            /**
             * Format: date-time
             * @description The new end, RFC 3339; `null` removes it.
             */
            expires_at?: string | null;
            quota?: null | components["schemas"]["ConsumerQuota"];
            /** @description The new tags. */
            tags?: string[];
        };
        /** @description A key of a consumer, without its secret. */
        ConsumerKey: {
            /**
             * Format: date-time
             * @description Time of its creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time from which on it is refused; `null` if it does not end.
             */
            expires_at: string | null;
            /** @description Its id. */
            id: string;
            /**
             * @description `api_key`: requests carry the key; `hmac`: requests are signed with it.
             * @enum {string}
             */
            kind: "api_key" | "hmac";
        };
        ConsumerKeyList: {
            data: components["schemas"]["ConsumerKey"][];
        };
        /** @description The body of the request that creates a key. */
        ConsumerKeyRequest: {
            /**
             * Format: date-time
             * @description Time from which on it is refused, RFC 3339.
             */
            expires_at?: string | null;
            /**
             * @description `api_key`: requests carry the key; `hmac`: requests are signed with it.
             * @enum {string}
             */
            kind: "api_key" | "hmac";
        };
        ConsumerPage: {
            data: components["schemas"]["Consumer"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The quota of a consumer. */
        ConsumerQuota: {
            /**
             * Format: int64
             * @description Requests within the window, over all channels and nodes.
             */
            limit: number;
            /**
             * @description The length of the window.
             * @enum {string}
             */
            per: "minute" | "hour" | "day" | "month";
            /**
             * @description `calendar`, the default, begins with the period, in UTC; `sliding` ends now.
             * @enum {string}
             */
            window?: "calendar" | "sliding";
        };
        /** @description The body of the request that creates a consumer. */
        ConsumerRequest: {
            /**
             * Format: date-time
             * @description Time from which on it is refused, RFC 3339.
             */
            expires_at?: string | null;
            /** @description Its name, which never changes: letters, digits, `.`, `_`, `-` and `@`. */
            name: string;
            quota?: null | components["schemas"]["ConsumerQuota"];
            /** @description Words by which channels accept it, at most 20. */
            tags?: string[] | null;
        };
        ConsumerResponse: {
            data: components["schemas"]["Consumer"];
        };
        /** @description A backup that was made now. */
        CreatedBackup: {
            /**
             * Format: date-time
             * @description Instant of the backup: later changes are not in it.
             */
            created_at: string;
            /** @description Name of the file in the directory of backups. */
            filename: string;
            /** @description Path of the file on the host of the server. */
            path: string;
            /**
             * Format: int64
             * @description Size of the file in bytes.
             */
            size_bytes: number;
        };
        CreatedBackupResponse: {
            data: components["schemas"]["CreatedBackup"];
        };
        /** @description A key that was created now, with its secret. */
        CreatedConsumerKey: {
            /**
             * Format: date-time
             * @description Time of its creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time from which on it is refused; `null` if it does not end.
             */
            expires_at: string | null;
            /** @description Its id. */
            id: string;
            /**
             * @description `api_key`: requests carry the key; `hmac`: requests are signed with it.
             * @enum {string}
             */
            kind: "api_key" | "hmac";
            /** @description The secret. It is shown here and never again. */
            secret: string;
        };
        CreatedConsumerKeyResponse: {
            data: components["schemas"]["CreatedConsumerKey"];
        };
        /** @description The state of a schedule that this node has loaded. */
        CronStatus: {
            /** @description Id of the channel. */
            channel_id: string;
            /** @description Name of the channel. */
            channel_name: string;
            /** @description `allow` or `forbid`. */
            concurrency_policy: string;
            /**
             * Format: date-time
             * @description End of the newest occurrence.
             */
            last_completed_at: string | null;
            /**
             * Format: date-time
             * @description Instant at which the newest occurrence was due.
             */
            last_scheduled_for: string | null;
            /** @description Status of the newest occurrence. */
            last_status: string | null;
            /**
             * Format: date-time
             * @description The next instant; `null` until the schedule is planned for the first time.
             */
            next_fire_at: string | null;
            /** @description The next instants of the schedule. */
            next_fires: string[];
            /** @description The pause of the channel by an operator: instants are on record when it ends. */
            paused?: components["schemas"]["ChannelPause"];
            /**
             * Format: date-time
             * @description Start of the pause; `null` while the schedule runs.
             */
            paused_at: string | null;
            /**
             * Format: int64
             * @description Occurrences that wait for a worker.
             */
            pending: number;
            /** @description The expression as it was written. */
            schedule: string;
            /** @description The concurrency key; only under `forbid`. */
            singleton_key?: string;
            /**
             * Format: int32
             * @description Number of runs that may share the key; only under `forbid`.
             */
            slots?: number;
            /**
             * Format: int64
             * @description Number of runs that share it now; only under `forbid`.
             */
            slots_held?: number;
            /** @description The time zone. */
            timezone: string;
        };
        CronStatusList: {
            data: components["schemas"]["CronStatus"][];
        };
        /** @description A database that is away. */
        DatabaseOutage: {
            /** @description The reason. */
            reason: string;
            /**
             * Format: date-time
             * @description The time since which it is away.
             */
            since: string;
        };
        /** @description A dead letter with its payload. */
        DeadLetterDetail: components["schemas"]["DeadLetterSummary"] & {
            /** @description The metadata of the request, as JSON. */
            metadata_json: string;
            /** @description The payload, as JSON. */
            payload_json: string;
        };
        DeadLetterDetailResponse: {
            data: components["schemas"]["DeadLetterDetail"];
        };
        /** @description The dead letters without a retry left. */
        DeadLettersHealth: {
            /**
             * Format: int64
             * @description Their number, as counted at most one `trace_queue.dlq_poll_interval_secs` ago.
             */
            exhausted: number;
            /** @description The reason why the component is degraded. */
            reason?: string;
        };
        /** @description A dead letter without its payload. */
        DeadLetterSummary: {
            /** @description Id of the accepted work, if the run was a later attempt at it. */
            attempt_of?: string;
            /** @description Name of the channel. */
            channel: string;
            /**
             * Format: date-time
             * @description Instant of the failure.
             */
            created_at: string;
            /** @description Group of the failure, as the list of errors names it. */
            error_group: string | null;
            /** @description Reason of the failure. */
            error_message: string;
            /** @description Its id. */
            id: string;
            /**
             * Format: int64
             * @description Maximum number of retries.
             */
            max_retries: number;
            /**
             * Format: date-time
             * @description Instant at which the next retry is due; null where no retry is left.
             */
            next_retry_at: string | null;
            /**
             * Format: int64
             * @description Retries so far.
             */
            retry_count: number;
            /** @description Trace of the failed run. */
            trace_id: string;
            /**
             * Format: date-time
             * @description Instant of the last write of the letter.
             */
            updated_at: string;
        };
        /** @description A page of dead letters. */
        DeadLetterSummaryPage: {
            /** @description Number of letters with a retry left (`retrying`) and without (`exhausted`), with `include_counts=true`. */
            counts?: {
                [key: string]: number;
            };
            /** @description The rows of the page. */
            data: components["schemas"]["DeadLetterSummary"][];
            /**
             * Format: int64
             * @description The applied limit.
             */
            limit: number;
            /** @description Cursor of the next page, if more rows may follow. */
            next_cursor?: string;
            /**
             * Format: int64
             * @description The applied offset.
             */
            offset: number;
            /**
             * Format: date-time
             * @description The instant up to which rows were read, if that many were read that the page is not full.
             */
            scanned_until?: string;
            /**
             * Format: int64
             * @description Number of matching rows on all pages, but for `include_total=false`.
             */
            total?: number;
        };
        /**
         * @description The definitions that a change of one touches, with the traffic of the last 24 hours. All are of versions that serve;
         *     of the changed definition the latest version counts too.
         */
        DefinitionImpact: {
            /** @description Names of the channels that runs of the changed definition call. */
            calls: string[];
            /** @description The channels, at most 100, the changed one first, then from the nearest to the farthest. */
            channels: components["schemas"]["TouchedChannel"][];
            /** @description Names of the connectors that runs of the changed definition use, those of called channels included. */
            connectors: string[];
            /** @description Ids of the workflows that compute the name of a channel that they call: they may call any of these channels. */
            dynamic_callers: string[];
            /** @description Its id. */
            id: string;
            /** @description The kind of the changed definition: `workflow`, `channel`, `connector` or `plugin`. */
            kind: string;
            /** @description Number of further channels, which are not listed. */
            left_out: number;
            /** @description Its name. */
            name: string;
            /**
             * Format: date-time
             * @description The time since which runs are counted.
             */
            since: string;
            /** @description The workflows. */
            workflows: components["schemas"]["TouchedWorkflow"][];
        };
        DefinitionImpactResponse: {
            data: components["schemas"]["DefinitionImpact"];
        };
        /** @description The number of deleted recordings. */
        DeletedRecordings: {
            /**
             * Format: int64
             * @description Recordings that were deleted.
             */
            deleted: number;
        };
        DeletedRecordingsResponse: {
            data: components["schemas"]["DeletedRecordings"];
        };
        /** @description A lack of file descriptors. */
        DescriptorsHealth: {
            /** @description The reason. */
            reason: string;
        };
        /** @description A problem of a file of the project. */
        DevFinding: {
            /** @description The stable id of the check. */
            check: string;
            /** @description The column in characters, counted from 1. */
            column?: number;
            /** @description The entity or file that it is about. */
            entity: string;
            /** @description The file, relative to the directory. */
            file?: string;
            /** @description The remedy. */
            fix?: string;
            /** @description The line, counted from 1. */
            line?: number;
            /** @description The problem; begins with the path of the field, if there is one. */
            message: string;
            /** @description `error` or `warning`. */
            severity: string;
        };
        /** @description The project that `svc-server dev` watches. */
        DevProject: {
            /**
             * Format: date-time
             * @description Instant of the end of the last check.
             */
            checked_at: string | null;
            /** @description Its directory. */
            directory: string;
            /** @description The errors and warnings of the last check. */
            findings: components["schemas"]["DevFinding"][];
            /** @description The reasons for which a definition was refused by the server, or is stored and cannot be loaded. */
            problems: string[];
            /**
             * Format: date-time
             * @description Instant since which the definitions serve that serve now.
             */
            served_at: string | null;
            /**
             * @description `loading` until it was checked for the first time, `served`, or `refused`: what was saved last does not
             *     serve, and what served before goes on.
             */
            state: string;
        };
        DevProjectResponse: {
            data: components["schemas"]["DevProject"];
        };
        /** @description The JSON Schema of a kind of document, for editors. */
        DocumentSchema: {
            /** @description The kind of document. */
            kind: string;
            /** @description Its JSON Schema (2020-12), with the functions of this service. */
            schema: {
                [key: string]: unknown;
            };
        };
        DocumentSchemaResponse: {
            data: components["schemas"]["DocumentSchema"];
        };
        /** @description A node that drains. */
        DrainedNode: {
            /**
             * Format: int64
             * @description Seconds for which it still takes requests.
             */
            accepting_for_secs: number;
            /**
             * Format: int64
             * @description Seconds that everything in progress gets after that; 0 sets no bound.
             */
            force_after_secs: number;
            /** @description Id of the node. */
            node: string;
        };
        DrainedNodeResponse: {
            data: components["schemas"]["DrainedNode"];
        };
        /** @description The configuration in effect on the node that answers, secrets struck out. */
        EffectiveConfig: {
            /** @description The configuration file; `null` if the process was started without one. */
            file: string | null;
            /** @description Every setting, in the order of the manual. */
            settings: components["schemas"]["EffectiveSetting"][];
        };
        EffectiveConfigResponse: {
            data: components["schemas"]["EffectiveConfig"];
        };
        /** @description A setting with its value in effect. */
        EffectiveSetting: {
            /** @description The value without any of these places; `null` if unset. */
            default: unknown;
            /** @description Its path, such as `server.port`. */
            key: string;
            /** @description `true` if a reload takes a new value; otherwise it takes a restart. */
            reloadable: boolean;
            /**
             * @description The place that gave it: `default`, `file`, `environment`, `flag`, or `program` for one that an embedding
             *     application set.
             */
            source: string;
            /** @description The value in effect, secrets struck out; `null` if unset. */
            value: unknown;
            /** @description The environment variable that sets it; `null` for a setting of the file alone. */
            variable: string | null;
        };
        /** @description The result of a reload. */
        EngineReloaded: {
            /** @description The connectors that could not be loaded. */
            failed_connectors: components["schemas"]["FailedConnector"][];
            /** @description The channels that could not be built. */
            quarantined: components["schemas"]["QuarantinedChannel"][];
            /** @description Always `true`. */
            reloaded: boolean;
            /** @description The settings that have changed since they were last read. */
            settings: components["schemas"]["ReloadedSettings"];
            /** @description The channels that serve despite a problem; absent if there are none. */
            warnings?: components["schemas"]["QuestionableChannel"][];
            /** @description Number of workflows that serve. */
            workflows_count: number;
        };
        EngineReloadedResponse: {
            data: components["schemas"]["EngineReloaded"];
        };
        /** @description The state of the engine. */
        EngineStatus: {
            /** @description Number of workflows that serve; the same as `workflows_count`. */
            active_workflows: number;
            /** @description Names of the channels that serve, sorted. */
            channels: string[];
            /** @description The connectors that could not be loaded. */
            failed_connectors: components["schemas"]["FailedConnector"][];
            /** @description The channels that could not be built. */
            quarantined: components["schemas"]["QuarantinedChannel"][];
            /**
             * Format: int64
             * @description Seconds since the start of the process.
             */
            uptime_seconds: number;
            /** @description Version of the service. */
            version: string;
            /** @description Number of workflows that serve. */
            workflows_count: number;
        };
        EngineStatusResponse: {
            data: components["schemas"]["EngineStatus"];
        };
        /** @description The epoch of the configuration that a process serves, and that of the stored one. */
        EpochHealth: {
            /**
             * Format: int64
             * @description The epoch that this process serves.
             */
            applied: number;
            /**
             * Format: int64
             * @description The epoch of the database, as last read.
             */
            current: number;
            /** @description The reason why the last read of the stored epoch failed. */
            problem: string | null;
        };
        /** @description An error as clients see it. */
        Error: {
            /**
             * @description The stable code, on which clients branch.
             * @enum {string}
             */
            code: "VALIDATION_ERROR" | "UNAUTHORIZED" | "FORBIDDEN" | "UNTRUSTED_PACKAGE" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_TIMEOUT" | "CONFLICT" | "IDEMPOTENCY_IN_PROGRESS" | "PRECONDITION_FAILED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "MISDIRECTED_REQUEST" | "IDEMPOTENCY_KEY_REUSED" | "RATE_LIMITED" | "QUOTA_EXCEEDED" | "REQUEST_HEADER_FIELDS_TOO_LARGE" | "INTERNAL_ERROR" | "CONFIG_ERROR" | "STORAGE_ERROR" | "SERIALIZATION_ERROR" | "ENGINE_ERROR" | "RESPONSE_TOO_LARGE" | "SERVICE_UNAVAILABLE" | "PLUGIN_COMPILING" | "CHANNEL_PAUSED" | "SUBMISSION_UNCERTAIN" | "CIRCUIT_OPEN" | "TIMEOUT";
            /** @description Every problem that was found, with its place; only with `VALIDATION_ERROR`. */
            details?: components["schemas"]["ErrorDetail"][];
            /** @description A description for people. */
            message: string;
            /** @description The value of the header `x-request-id`, by which the log of the service has the cause. */
            request_id?: string;
            /** @description Id of the trace of a run that failed, if one is stored; also in the header `x-trace-id`. */
            trace_id?: string;
        };
        /** @description A problem at one place of a request. */
        ErrorDetail: {
            /**
             * @description The class of the problem.
             * @enum {string}
             */
            code: "REQUIRED" | "REQUIRED_FOR_PROTOCOL" | "INVALID" | "TYPE_MISMATCH" | "TOO_LONG" | "CONFLICTING_WRITES" | "UNKNOWN_FIELD" | "UNKNOWN_OPERATOR" | "NOT_AN_EXPRESSION" | "logic.unknown_operator" | "logic.unresolvable" | "path.root" | "DUPLICATE_FIELD" | "DUPLICATE_TASK_ID" | "UNKNOWN_FUNCTION" | "UNCOMPILED_SOURCE" | "UNRESOLVED_SECRET_REF" | "env.embedded" | "NOT_LOADABLE" | "NOT_FOUND" | "CONFLICT" | "PRECONDITION_FAILED" | "missing_required" | "field_not_applicable" | "unknown_op" | "empty_update" | "update_requires_operators" | "unusable_array_filters" | "replace_document_is_plain" | "invalid_pipeline";
            /** @description The expected value, or the names that could be meant. */
            expected?: unknown;
            /** @description The received value, unless it could be secret. */
            got?: unknown;
            /** @description A description for people. */
            message: string;
            /** @description The place, such as `channel.protocol`, `tasks[2].function.input.connector` or `body.status`. */
            path: string;
        };
        /** @description `{"error": …}`: the body of every refusal and failure. */
        ErrorEnvelope: {
            /** @description Code, message and details of the error. */
            error: components["schemas"]["Error"];
        };
        /** @description Failures of one channel, workflow and task with one code, and messages that differ in values alone. */
        ErrorGroup: {
            change: null | components["schemas"]["AuditLogEntry"];
            /** @description Name of the channel. */
            channel: string;
            /** @description Code of the error. */
            code: string | null;
            /**
             * Format: int64
             * @description Number of failures, each counted once: as a dead letter, an occurrence, a trace or a held record.
             */
            count: number;
            /**
             * Format: date-time
             * @description Instant of the first failure, whether its row is still there or not.
             */
            first_seen: string;
            /** @description Its id, a filter of every list of runs. */
            group: string;
            /**
             * Format: date-time
             * @description Instant of the last failure that is counted; of an occurrence the one at which it was due.
             */
            last_seen: string;
            /** @description The message, with ids, numbers and quoted texts replaced. */
            message: string;
            /** @description The node that holds the records; absent for failures in the database, which belong to no node. */
            node?: string;
            /** @description Ids of the newest traces, at most five. */
            samples: string[];
            /** @description Id of the task whose error it is, if a task failed. */
            task: string | null;
            /** @description Versions of the workflow that failed. */
            versions: number[];
            /** @description Id of the workflow, if one was chosen. */
            workflow: string | null;
        };
        ErrorGroupPage: {
            data: components["schemas"]["ErrorGroup"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The latest version of a plugin with its component, as an import takes it. */
        ExportedPlugin: {
            /** @description The component in base64. */
            component: string;
            /**
             * Format: date-time
             * @description Time of its creation.
             */
            created_at: string;
            /** @description The digest of the component. */
            digest: string;
            /** @description The manifest: the functions and their inputs. */
            manifest: {
                [key: string]: unknown;
            };
            /** @description Its id: the name in its manifest. */
            plugin_id: string;
            /** @description The line of its signature; absent if it came without one. */
            signature?: string;
            /**
             * @description The lifecycle status of the version.
             * @enum {string}
             */
            status: "draft" | "active" | "archived";
            /**
             * Format: date-time
             * @description Time of its last change.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The number of the version.
             */
            version: number;
        };
        ExportedPluginList: {
            data: components["schemas"]["ExportedPlugin"][];
        };
        /** @description A connector that could not be loaded. */
        FailedConnector: {
            /** @description Name of the connector. */
            connector: string;
            /** @description Id of the connector. */
            connector_id: string;
            /** @description The reason. */
            reason: string;
            /** @description Step of the load that failed. */
            stage: string;
        };
        /** @description A plugin that cannot be used on this node. */
        FailedPlugin: {
            /** @description Its id. */
            plugin_id: string;
            /** @description The reason. */
            reason: string;
        };
        /** @description An input of a function. */
        FunctionInput: {
            /** @description Its other name. */
            alias: string | null;
            /** @description A description for people. */
            description: string;
            /** @description The type that the value must evaluate to. */
            kind: string;
            /** @description Its name; `field[].member` for a member of the items of a field. */
            name: string;
            /** @description `true` if the input is required. */
            required: boolean;
            /** @description `true` if `{"var": path}` is folded before use. */
            resolvable: boolean;
            /** @description Paths inside the field that hold key material. */
            secret_at: string[];
            /** @description Paths inside the field that are expressions. */
            template_at: string[];
        };
        /** @description The application that defines a function. */
        FunctionPlugin: {
            /** @description Hash of the declarations of the application. */
            digest: string;
            /** @description Id of the application. */
            id: string;
            /** @description Version of the application. */
            version: string;
        };
        /** @description The limits of a rollout that moves by itself. */
        GateTerms: {
            /**
             * Format: double
             * @description Share of the newer version's runs, 0.001 to 1, that the older one runs too, as a shadow.
             */
            compare?: number | null;
            /**
             * Format: double
             * @description Probability with which a good version is not rolled back, over all tests of the rollout; 0.9999 by default.
             */
            confidence?: number | null;
            /**
             * Format: double
             * @description Permitted share of those runs that differ, 0 to 1; 0.01 by default. Needs `compare`.
             */
            max_difference_ratio?: number | null;
            /**
             * Format: double
             * @description Permitted difference of the shares of failed runs, 0 to 1; 0.01 by default.
             */
            max_error_ratio_delta?: number | null;
            /**
             * Format: double
             * @description Permitted quotient of the 99th percentiles of the durations, and of the 90th and the medians, 1 or more; 1.5 by
             *     default.
             */
            max_p99_ratio?: number | null;
            /**
             * Format: int64
             * @description Seconds for which a step waits for them beyond its interval, before the rollout is paused; 3600 by default.
             */
            max_wait_secs?: number | null;
            /**
             * Format: int64
             * @description Runs of the newer version that a step needs, 30 or more; 200 by default.
             */
            min_runs?: number | null;
        };
        /** @description A request to try against the guards of a channel. */
        GuardTrialRequest: {
            /** @description The body: a text is sent as it is, any other value as JSON without blanks, by default as `application/json`. */
            body?: unknown;
            /** @description The bytes of the body in base64, in the place of `body`. */
            body_base64?: string;
            /** @description The headers: the value of each name, or the list of its values. */
            headers?: {
                [key: string]: unknown;
            };
            /** @description The method; `POST` by default. */
            method?: string;
            /** @description The path with its query, as a client sends it. Without it the route is not tried, and no parameter has a value. */
            path?: string;
        };
        /** @description The verdict of the guards over a request. */
        GuardTrialResult: {
            /** @description `true` if no guard that was tried would refuse the request. */
            admitted: boolean;
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description The guards that the request meets, in their order. */
            guards: components["schemas"]["GuardVerdict"][];
            /** @description Id of the node that answers. */
            node: string;
            refusal: null | components["schemas"]["RequestRefusal"];
        };
        GuardTrialResultResponse: {
            data: components["schemas"]["GuardTrialResult"];
        };
        /** @description The verdict of one guard. */
        GuardVerdict: {
            /** @description The guard, by its key in the configuration of the channel. */
            guard: string;
            /** @description The reason of `unchecked`. */
            note?: string;
            /** @description `passed`; `refused`; `unchecked` for what a trial cannot know; `not_met` behind a refusal. */
            result: string;
        };
        /** @description The health of a node. The members after `components` are for admins only. */
        Health: {
            /** @description The supervision tree; of a large one only the nodes that do not run. */
            actors?: components["schemas"]["ActorsHealth"];
            /** @description Time of the build. */
            build_timestamp?: string;
            /** @description The channels in quarantine and the paused ones. */
            channels?: components["schemas"]["ChannelsHealth"];
            /** @description The reason why the Redis server of the cluster takes no writes. */
            cluster_redis?: components["schemas"]["ClusterRedisHealth"];
            /** @description The state of each component: `ok`, `degraded` or `error`. */
            components: components["schemas"]["HealthComponents"];
            /** @description Circuit breakers, and the connectors that could not be loaded. */
            connectors?: components["schemas"]["ConnectorsHealth"];
            /** @description The schedules. */
            cron?: components["schemas"]["SchedulesHealth"];
            /** @description The reason why the database is away. */
            database?: components["schemas"]["DatabaseOutage"];
            /** @description The dead letters without a retry left. */
            dead_letters?: components["schemas"]["DeadLettersHealth"];
            /** @description The reason of a lack of file descriptors. */
            descriptors?: components["schemas"]["DescriptorsHealth"];
            /** @description The epoch of the configuration that serves, and that of the stored one. */
            epoch?: components["schemas"]["EpochHealth"];
            /** @description Commit of the build. */
            git_hash?: string;
            /** @description The brokers and the ingress of topics. */
            kafka?: components["schemas"]["KafkaHealth"];
            /** @description Hints about settings. */
            notes?: string[];
            /** @description The components of the active plugins; absent without any. */
            plugins?: components["schemas"]["PluginsHealth"];
            /** @description `ok` or `degraded`. */
            status: string;
            /** @description The problem of the certificate. */
            tls?: components["schemas"]["TlsHealth"];
            /**
             * Format: int64
             * @description Seconds since its start.
             */
            uptime_seconds: number;
            /** @description Version of the service. */
            version: string;
            /** @description Number of workflows that serve. */
            workflows_loaded?: number;
        };
        /** @description The state of each component. */
        HealthComponents: {
            /**
             * @description The state of the component.
             * @enum {string}
             */
            actors: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            channels: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            cluster_redis?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            config_propagation: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            connectors: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            cron?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            database: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            dead_letters?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            descriptors: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            engine: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            engine_reload: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            kafka?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            plugins?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            tls?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            webhooks?: "ok" | "degraded" | "error";
        };
        /** @description A circuit breaker of a host whose address messages compute. */
        HostBreakerState: {
            /** @description Name of the connector over which the host is called. */
            connector: string;
            /** @description Host and port. */
            host: string;
            /** @description `open` or `half_open`. */
            state: string;
        };
        /** @description At most 1000 create bodies. Each is read on its own: one that is refused is reported, and the others go on. The whole response of an export is accepted as well, and so is the file of a package, of which the items of the kind are taken. */
        ImportBatch: unknown[];
        /** @description An accepted item of an import. */
        ImportedItem: {
            /** @description `created`, `updated_draft`, `updated`, `new_version`, `unchanged` or `skipped`. */
            action: string;
            /** @description Its key: the id of a workflow, channel or plugin, the name of a connector. */
            id: string | null;
            /** @description Its place in the batch, from 0. */
            index: number;
        };
        /** @description A refused item of an import. */
        ImportFailure: {
            /** @description The code of the error. */
            code?: string;
            /** @description The reason. */
            error: string;
            /** @description Its place in the batch, from 0. */
            index: number;
        };
        /** @description The report of an import. */
        ImportReport: {
            /** @description `true` if nothing was written because the request asked for a dry run. */
            dry_run: boolean;
            /** @description The refusals. */
            errors: components["schemas"]["ImportFailure"][];
            /** @description Number of items that were refused. */
            failed: number;
            /** @description Number of items that were written, or would be. */
            imported: number;
            /** @description The accepted items. */
            results: components["schemas"]["ImportedItem"][];
            /** @description Number of items that were left out because their key exists. */
            skipped: number;
            /** @description Number of items whose content is stored already. */
            unchanged: number;
            /** @description `true` if no item was refused; of a dry run. */
            valid?: boolean;
            /** @description Problems that do not prevent the import; of a dry run. */
            warnings?: components["schemas"]["Issue"][];
        };
        ImportReportResponse: {
            data: components["schemas"]["ImportReport"];
        };
        /** @description The cached answers that became stale. */
        InvalidatedCaches: {
            /** @description The namespaces. */
            namespaces: string[];
            /** @description Number of caches that keep answers of them; the memory of the node counts as one. */
            stores: number;
        };
        InvalidatedCachesResponse: {
            data: components["schemas"]["InvalidatedCaches"];
        };
        /** @description The keys of the entities in a package version. */
        Inventory: {
            /**
             * @description Ids of channels.
             * @default []
             */
            channels: string[];
            /**
             * @description Names of connectors.
             * @default []
             */
            connectors: string[];
            /**
             * @description Ids of plugins; absent without any.
             * @default []
             */
            plugins: string[];
            /**
             * @description Ids of workflows.
             * @default []
             */
            workflows: string[];
        };
        /** @description A problem of a document. */
        Issue: {
            /**
             * @description The class of the problem.
             * @enum {string}
             */
            code?: "REQUIRED" | "REQUIRED_FOR_PROTOCOL" | "INVALID" | "TYPE_MISMATCH" | "TOO_LONG" | "CONFLICTING_WRITES" | "UNKNOWN_FIELD" | "UNKNOWN_OPERATOR" | "NOT_AN_EXPRESSION" | "logic.unknown_operator" | "logic.unresolvable" | "path.root" | "DUPLICATE_FIELD" | "DUPLICATE_TASK_ID" | "UNKNOWN_FUNCTION" | "UNCOMPILED_SOURCE" | "UNRESOLVED_SECRET_REF" | "env.embedded" | "NOT_LOADABLE" | "NOT_FOUND" | "CONFLICT" | "PRECONDITION_FAILED" | "missing_required" | "field_not_applicable" | "unknown_op" | "empty_update" | "update_requires_operators" | "unusable_array_filters" | "replace_document_is_plain" | "invalid_pipeline";
            /** @description The path of the field; `(root)` if no field applies. */
            field: string;
            /** @description A description for people. */
            message: string;
            /** @description The id of the channel that serves and is in the way, in a conflict about a name or a route. */
            rival?: string;
        };
        /** @description The brokers and the ingress of topics. */
        KafkaHealth: {
            /** @description Number of partitions assigned to this node. */
            assigned_partitions: number;
            /** @description The problems of consumers and partitions. */
            ingest: string[];
            /** @description The reason why the brokers cannot be used. */
            problem: string | null;
        };
        /** @description A partition that is assigned to this node. */
        KafkaPartition: {
            /**
             * Format: int32
             * @description Number of attempts at the record that is held back.
             */
            attempts: number;
            /** @description Name of the channel that its records go to; `null` while its topic is about to be given up. */
            channel: string | null;
            /**
             * Format: int64
             * @description The committed offset, as far as this node knows it.
             */
            committed_offset: number | null;
            /** @description The consumer group that reads it. */
            consumer_group: string;
            /** @description `true` while no more records are fetched, because enough of them wait. */
            fetch_paused: boolean;
            /**
             * Format: int64
             * @description Records up to the end of the partition, as of the last measurement.
             */
            lag: number | null;
            /** @description The reason why it is held back. */
            last_error: string | null;
            /**
             * Format: int64
             * @description Offset of the record at hand, or of the next one.
             */
            offset: number | null;
            /**
             * Format: int32
             * @description The number of the partition.
             */
            partition: number;
            /**
             * Format: date-time
             * @description Time since which it is held back.
             */
            retry_since: string | null;
            /** @description `idle`, `running`, `committing`, `deferred`, `retrying`, `blocked` or `stopping`. */
            state: string;
            /** @description The topic. */
            topic: string;
            /** @description Bytes of these records. */
            waiting_bytes: number;
            /** @description Number of records that were fetched and wait. */
            waiting_records: number;
        };
        KafkaPartitionList: {
            data: components["schemas"]["KafkaPartition"][];
        };
        /** @description A node of the supervision tree at one instant. */
        LiveActor: {
            /**
             * Format: int64
             * @description Number of the instance that runs or ran last.
             */
            generation: number;
            /** @description Maximum number of calls in flight. */
            mailbox_bound: number;
            /** @description Calls in flight. */
            mailbox_depth: number;
            /** @description The path of the node. */
            path: string;
            /** @description The reason of the quarantine. */
            reason?: string;
            /**
             * Format: int64
             * @description Restarts over the life of the node.
             */
            restarts: number;
            /** @description `starting`, `running`, `restarting`, `quarantined`, `draining` or `stopped`. */
            state: string;
        };
        /** @description The data of the event `changes`, once a second. */
        LiveChanges: {
            /**
             * Format: date-time
             * @description Time of the sample.
             */
            at: string;
            /** @description The channels with messages since then, those with the most first. One that is not in the list had none. */
            channels: components["schemas"]["LiveChannel"][];
            /** @description Number of channels with messages that were left out. */
            channels_left_out: number;
            /** @description Accepted work, dead letters and schedules. */
            counts: components["schemas"]["LiveCounts"];
            /** @description Runs that ended since then, those that did not complete first. */
            runs: components["schemas"]["LiveRun"][];
            /**
             * Format: int64
             * @description Number of ended runs that were left out.
             */
            runs_left_out: number;
            /** @description The messages of all channels since the sample before. */
            traffic: components["schemas"]["LiveTraffic"];
            /** @description The changes of the supervision tree. */
            tree: components["schemas"]["LiveTreeChanges"];
        };
        /** @description Messages of one channel in one period. */
        LiveChannel: {
            /** @description Name of the channel. */
            channel: string;
            /**
             * Format: double
             * @description Messages a second that failed or reached their deadline.
             */
            errors: number;
            /**
             * Format: double
             * @description The duration in milliseconds that 99 of 100 messages do not exceed, estimated from the buckets of the histogram.
             */
            p99_ms: number | null;
            /**
             * Format: double
             * @description Messages a second without an acceptable credential, or seen before.
             */
            refused: number;
            /**
             * Format: double
             * @description Messages a second, whatever their end.
             */
            requests: number;
        };
        /**
         * @description Counts of work. Those of the database are the service's, as this node counted them last: within the poll intervals of
         *     the queue, the dead letters and the schedules.
         */
        LiveCounts: {
            /** @description Channels that this node serves. */
            channels: number;
            /** @description Channels that are paused. */
            channels_paused: number;
            /** @description Channels in quarantine. */
            channels_quarantined: number;
            /**
             * Format: int64
             * @description Dead letters without a retry left.
             */
            dead_letters_exhausted: number;
            /**
             * Format: int64
             * @description Dead letters that wait for a retry.
             */
            dead_letters_waiting: number;
            /**
             * Format: int64
             * @description Occurrences of schedules that are due and wait for a worker.
             */
            occurrences_due: number;
            /**
             * Format: int64
             * @description Seconds for which the oldest of them has been due; `null` if none waits, or on a node without schedules.
             */
            oldest_due_secs: number | null;
            /**
             * Format: int64
             * @description Accepted jobs in the queue of this node.
             */
            queue_depth: number;
            /**
             * Format: int64
             * @description Accepted work that waits for the resume of its channel.
             */
            waiting_paused: number;
            /**
             * Format: int64
             * @description Accepted work that waits for its next retry.
             */
            waiting_retrying: number;
            /**
             * Format: int64
             * @description Accepted work that waits for its time.
             */
            waiting_scheduled: number;
            /**
             * Format: int64
             * @description Accepted work that waits for its share.
             */
            waiting_share: number;
            /**
             * Format: int64
             * @description Workers of this node that run a job.
             */
            workers_active: number;
            /**
             * Format: int64
             * @description Workers of this node.
             */
            workers_total: number;
        };
        /** @description The data of the event `end`, the last one of a stream that the server ends. */
        LiveEnd: {
            /** @description `draining`: the node is stopping. `key_withdrawn`: the key is no longer accepted. `once`: no more was asked for. */
            reason: string;
        };
        /** @description The history of the messages of all channels, as far as the memory of the node reaches. */
        LiveHistory: {
            /** @description A point for each minute of the last day. */
            minutes?: components["schemas"]["LiveSeries"];
            /** @description A point for each second of the last hour in which somebody watched. */
            seconds?: components["schemas"]["LiveSeries"];
        };
        /** @description The response of a process that runs. */
        Liveness: {
            /** @description `ok`. */
            status: string;
        };
        /** @description The node of a stream. */
        LiveNode: {
            /** @description Its id, as in the list of nodes. */
            id: string;
            /** @description Its name, configured or generated at the start. */
            name: string;
            /**
             * Format: int64
             * @description Seconds since the start of the process.
             */
            uptime_secs: number;
            /** @description Version of `svc-server`. */
            version: string;
        };
        /** @description The data of the event `picture`: everything at one instant. It replaces what came before. */
        LivePicture: {
            /**
             * Format: date-time
             * @description Time of the picture.
             */
            at: string;
            /** @description The channels with messages, those with the most first. */
            channels: components["schemas"]["LiveChannel"][];
            /** @description Number of channels with messages that were left out. */
            channels_left_out: number;
            /** @description Accepted work, dead letters and schedules. */
            counts: components["schemas"]["LiveCounts"];
            /** @description The history that was asked for. */
            history?: components["schemas"]["LiveHistory"];
            /** @description The node that all of it is about, but for the counts of the database. */
            node: components["schemas"]["LiveNode"];
            /** @description The messages of all channels. */
            traffic: components["schemas"]["LiveTraffic"];
            /** @description The supervision tree. */
            tree: components["schemas"]["LiveTree"];
        };
        /** @description The end of a run on the node of the stream. */
        LiveRun: {
            /** @description Name of the channel. */
            channel: string;
            /**
             * Format: date-time
             * @description Time of the end.
             */
            ended_at: string;
            /** @description Code of the error by which it failed. */
            error_code: string | null;
            /** @description Id of the run: that of its trace, if it is traced. */
            id: string;
            /** @description `sync`, `async`, `cron`, `kafka` or `call`. */
            mode: string;
            /** @description `completed`, `failed`, `timed_out` or `cancelled`. */
            status: string;
            /**
             * Format: double
             * @description Its duration in milliseconds.
             */
            took_ms: number;
            /**
             * Format: int64
             * @description Version of the workflow.
             */
            version: number | null;
            /** @description Id of the workflow, if one was chosen. */
            workflow: string | null;
        };
        /** @description Points of one resolution, the oldest first; each list has a value for each point. */
        LiveSeries: {
            /** @description Messages a second that failed or reached their deadline. */
            errors: number[];
            /** @description The duration in milliseconds that 99 of 100 messages did not exceed; `null` without messages. */
            p99_ms: (number | null)[];
            /** @description Messages a second. */
            requests: number[];
            /** @description End of the period of the point, in seconds since 1970. Periods without a point are left out. */
            times: number[];
        };
        /** @description Messages of one period. */
        LiveTraffic: {
            /**
             * Format: double
             * @description Messages a second that failed or reached their deadline.
             */
            errors: number;
            /**
             * Format: double
             * @description Median of the durations in milliseconds, estimated from the buckets of the histogram; `null` without messages.
             */
            p50_ms: number | null;
            /**
             * Format: double
             * @description The duration in milliseconds that 99 of 100 messages do not exceed, estimated alike.
             */
            p99_ms: number | null;
            /**
             * Format: double
             * @description Messages a second without an acceptable credential, or seen before.
             */
            refused: number;
            /**
             * Format: double
             * @description Messages a second, whatever their end.
             */
            requests: number;
        };
        /** @description The supervision tree: its sums, every node with something to report, and the others while there are few. */
        LiveTree: {
            /** @description Number of nodes that were left out. */
            left_out: number;
            /** @description The nodes, those with something to report first. */
            nodes: components["schemas"]["LiveActor"][];
            /** @description The sums over all nodes. */
            totals: components["schemas"]["LiveTreeTotals"];
        };
        /** @description The changes of the supervision tree since the event before. */
        LiveTreeChanges: {
            /** @description Nodes that are new or differ. */
            changed: components["schemas"]["LiveActor"][];
            /** @description Paths of nodes that are no longer shown. */
            gone: string[];
            /** @description Number of nodes that were left out. */
            left_out: number;
            /** @description The sums over all nodes. */
            totals: components["schemas"]["LiveTreeTotals"];
        };
        /** @description Sums over all nodes of the supervision tree. */
        LiveTreeTotals: {
            /** @description Calls in flight in all mailboxes. */
            mailbox_depth: number;
            /** @description Number of nodes. */
            nodes: number;
            /** @description Number of nodes in quarantine. */
            quarantined: number;
            /**
             * Format: int64
             * @description Restarts of all actors since the start.
             */
            restarts: number;
            /** @description Number of nodes that run. */
            running: number;
        };
        /** @description The body of the creation of a channel. `null` counts as absent; read-only members of a response are ignored. */
        NewChannel: {
            /** @description the id, which never changes; generated where it is absent */
            channel_id?: string | null;
            /**
             * @description informative; `sync` by default, `async` for `kafka` and `cron`, which needs it
             * @enum {string}
             */
            channel_type?: "sync" | "async";
            /** @description guards and shaping */
            config?: {
                [key: string]: unknown;
            } | null;
            /** @description the consumer group that reads the topic; without it `kafka.group_id` */
            consumer_group?: string | null;
            /** @description free text, at most 2048 bytes */
            description?: string | null;
            /** @description methods of the route; for `rest` and `http` */
            methods?: string[] | null;
            /** @description the name that callers use; unique among channels */
            name: string;
            /**
             * Format: int64
             * @description the highest matches first
             */
            priority?: number | null;
            /**
             * @description the transport
             * @enum {string}
             */
            protocol: "rest" | "http" | "kafka" | "cron";
            /** @description path below the data prefix; for `rest` and `http` */
            route_pattern?: string | null;
            /** @description labels, for lists and exports */
            tags?: string[] | null;
            /** @description the topic; for `kafka` */
            topic?: string | null;
            /** @description the schedule of a `cron` channel; free otherwise */
            transport_config?: {
                [key: string]: unknown;
            } | null;
            /** @description id of the workflow that runs */
            workflow_id?: string | null;
        };
        /** @description The body of the creation of a connector. `null` counts as absent; read-only members of a response are ignored. */
        NewConnector: {
            /** @description address, credentials and limits */
            config?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description the system
             * @enum {string}
             */
            connector_type: "http" | "es" | "db" | "cache" | "kafka" | "smtp" | "storage";
            /** @description a disabled connector is not loaded */
            enabled?: boolean | null;
            /** @description the id, which never changes; generated where it is absent */
            id?: string | null;
            /** @description the name that tasks use; unique among connectors */
            name: string;
            /** @description labels, for lists and exports */
            tags?: string[] | null;
        };
        /** @description The body of the creation of a workflow. `null` counts as absent; read-only members of a response are ignored. */
        NewWorkflow: {
            /** @description runs only where this is true */
            condition?: unknown;
            /** @description a failed task does not end the workflow */
            continue_on_error?: boolean | null;
            /** @description free text, at most 2048 bytes */
            description?: string | null;
            /** @description repeats the tasks */
            loop?: {
                [key: string]: unknown;
            } | null;
            /** @description the name */
            name: string;
            /**
             * Format: int64
             * @description orders lists; the highest comes first
             */
            priority?: number | null;
            /** @description labels, for lists and exports */
            tags?: string[] | null;
            /** @description tasks and groups, in order */
            tasks: {
                [key: string]: unknown;
            }[];
            /** @description the id, which never changes; generated where it is absent */
            workflow_id?: string | null;
        };
        /** @description A process that shares the database, or did until it ended. */
        Node: {
            /**
             * Format: int64
             * @description The configuration epoch that it serves; `null` until its first load.
             */
            applied_epoch: number | null;
            /** @description The ids of the encryption keys that it can read; `null` for an earlier version, which does not report them. */
            encryption_key_ids: string[] | null;
            figures: null | components["schemas"]["NodeFigures"];
            /** @description Id of the node. */
            id: string;
            /** @description `true` for the node that answers this request. */
            is_this: boolean;
            /**
             * Format: date-time
             * @description End of its lease.
             */
            lease_until: string;
            /**
             * Format: int64
             * @description Its process id on its machine.
             */
            pid: number;
            /**
             * Format: date-time
             * @description Last renewal of its lease.
             */
            renewed_at: string;
            /**
             * Format: date-time
             * @description Start of the process.
             */
            started_at: string;
            /** @description `live`, `expired` or `stopped`. */
            status: string;
            /**
             * Format: date-time
             * @description Instant at which it released its lease.
             */
            stopped_at: string | null;
            /** @description Version of `svc-server`. */
            version: string;
        };
        /** @description The figures of a node, which it writes every ten seconds if the console is on. */
        NodeFigures: {
            /**
             * Format: int64
             * @description Seconds since the node wrote them.
             */
            age_secs?: number;
            /** @description The channels with messages in them, those with the most first. */
            channels: components["schemas"]["LiveChannel"][];
            /** @description Number of channels with messages that were left out. */
            channels_left_out: number;
            /** @description Names of channels in quarantine. */
            quarantined: string[];
            /** @description Number of channels in quarantine that were left out. */
            quarantined_left_out: number;
            /** @description The messages of all channels in the ten seconds before. */
            traffic: components["schemas"]["LiveTraffic"];
            /** @description The sums over the supervision tree. */
            tree: components["schemas"]["LiveTreeTotals"];
        };
        NodeList: {
            data: components["schemas"]["Node"][];
        };
        /** @description The shadow runs of one node. */
        NodeShadows: {
            /** @description Number of runs without a shadow, by reason. */
            dropped: {
                [key: string]: number;
            };
            /** @description Number of runs by the kind of their differences; `same` has none. */
            kinds: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Number of shadow runs.
             */
            runs: number;
            /** @description The last runs that differ; empty for a key that may not read data. */
            samples: components["schemas"]["ShadowSample"][];
            /**
             * Format: int64
             * @description Number of calls that were not made, because they may change something and the followed run made none like them.
             */
            unanswered: number;
        };
        /** @description An occurrence with all its details. */
        Occurrence: components["schemas"]["OccurrenceSummary"] & {
            /**
             * Format: date-time
             * @description Instant of the order to cancel it.
             */
            cancel_requested_at?: string;
            /** @description The principal who cancelled it. */
            cancelled_by?: string;
            /**
             * Format: int64
             * @description Version of the channel that wrote the row.
             */
            channel_version: number;
            /** @description The current or last holder. */
            claimed_by: string | null;
            /**
             * Format: date-time
             * @description End of the lease.
             */
            claimed_until: string | null;
            /** @description Reason for the failure or the skip. */
            error_message: string | null;
            /**
             * Format: int64
             * @description Version that ran it.
             */
            executing_version: number | null;
            /**
             * Format: int64
             * @description Number of takeovers of the slot.
             */
            fencing_token: number | null;
            /** @description Concurrency key it holds, or held last. */
            singleton_key: string | null;
            /**
             * Format: int64
             * @description Number of the slot of the key.
             */
            singleton_slot: number | null;
            /** @description Trace of the latest run. */
            trace_id: string | null;
            /**
             * Format: date-time
             * @description Instant of the last write of the row.
             */
            updated_at: string;
            /** @description The workflow it was bound to when the row was written. */
            workflow_id: string | null;
            /**
             * Format: int64
             * @description Version of the workflow that its attempts run since its retry; absent for the one that serves.
             */
            workflow_version?: number;
        };
        /** @description An occurrence, as far as an explanation shows it. */
        OccurrenceExcerpt: {
            /**
             * Format: int64
             * @description Number of attempts that ran or were requested.
             */
            attempt: number;
            /** @description The current or last holder. */
            claimed_by?: string;
            /**
             * Format: date-time
             * @description End of the lease.
             */
            claimed_until?: string;
            /**
             * Format: date-time
             * @description End of the occurrence.
             */
            completed_at?: string;
            /** @description Reason for the failure or the skip. */
            error_message?: string;
            /** @description Its id. */
            id: string;
            /**
             * Format: date-time
             * @description Instant at which it is due.
             */
            scheduled_for: string;
            /**
             * Format: date-time
             * @description Start of the latest run.
             */
            started_at?: string;
            /** @description Its status. */
            status: string;
            /** @description Trace of the latest run. */
            trace_id?: string;
            /** @description `cron` or `manual`. */
            trigger: string;
        };
        /** @description A page of occurrences. */
        OccurrencePage: {
            /** @description Number of rows by status, with `include_counts=true`. */
            counts?: {
                [key: string]: number;
            };
            /** @description The rows of the page. */
            data: components["schemas"]["OccurrenceSummary"][];
            /**
             * Format: int64
             * @description The applied limit.
             */
            limit: number;
            /** @description Cursor of the next page, if more rows may follow. */
            next_cursor?: string;
            /**
             * Format: int64
             * @description The applied offset.
             */
            offset: number;
            /**
             * Format: date-time
             * @description The instant up to which rows were read, if that many were read that the page is not full.
             */
            scanned_until?: string;
            /**
             * Format: int64
             * @description Number of matching rows on all pages, but for `include_total=false`.
             */
            total?: number;
        };
        OccurrenceResponse: {
            data: components["schemas"]["Occurrence"];
        };
        /** @description The body of a retry. */
        OccurrenceRetry: {
            /** @description The version of the workflow. */
            version: ("same" | "current") | number;
        };
        /** @description An occurrence as it appears in lists. */
        OccurrenceSummary: {
            /**
             * Format: int64
             * @description Number of attempts that ran or were requested.
             */
            attempt: number;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description Name of the channel when the row was written. */
            channel_name: string;
            /**
             * Format: date-time
             * @description End of the occurrence.
             */
            completed_at: string | null;
            /**
             * Format: date-time
             * @description Instant at which the row was recorded.
             */
            created_at: string;
            /** @description Group of the failure, as the list of errors names it. */
            error_group: string | null;
            /** @description Its id. */
            id: string;
            /**
             * Format: date-time
             * @description Instant at which it is due.
             */
            scheduled_for: string;
            /**
             * Format: date-time
             * @description Start of the latest run.
             */
            started_at: string | null;
            /**
             * @description `pending`, `claimed`, `running`, `completed`, `failed`, `skipped_misfire`, `skipped_singleton` or `cancelled`; more
             *     may follow.
             */
            status: string;
            /** @description `cron`, `manual` or `backfill`. */
            trigger: string;
        };
        /** @description An operator of expressions. */
        Operator: {
            /** @description The number of its operands. */
            arity: components["schemas"]["OperatorArity"];
            /** @description Its group. */
            category: string;
            /** @description A description for people. */
            description: string;
            /** @description An expression with its data and its result. */
            example: components["schemas"]["OperatorExample"];
            /** @description Name of the operator. */
            name: string;
        };
        /** @description The number of operands of an operator. */
        OperatorArity: {
            /** @description The greatest number; `null` without a bound. */
            max: number | null;
            /** @description The least number. */
            min: number;
        };
        /** @description An example of an operator. */
        OperatorExample: {
            /** @description The `data` of the message. */
            data: unknown;
            /** @description The expression. */
            logic: unknown;
            /** @description The result; absent if it differs from time to time. */
            result?: unknown;
        };
        OperatorList: {
            data: components["schemas"]["Operator"][];
        };
        /** @description An endpoint as its consumer sees it. */
        OwnWebhook: {
            /**
             * Format: date-time
             * @description Its registration.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The first failure since the last success.
             */
            failing_since: string | null;
            /** @description Its id. */
            id: string;
            /**
             * @description `unverified` until it has echoed its challenge.
             * @enum {string}
             */
            state: "unverified" | "enabled" | "disabled";
            /** @description Its topics, in the order of their names. */
            topics: string[];
            /** @description Its address. */
            url: string;
            /**
             * Format: date-time
             * @description The instant at which it echoed its challenge.
             */
            verified_at: string | null;
        };
        OwnWebhookPage: {
            data: components["schemas"]["OwnWebhook"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description A package: its current version, and the receipts of all versions. */
        PackageDetail: {
            current: null | components["schemas"]["Receipt"];
            /** @description The name of the package. */
            name: string;
            /** @description The receipts, newest first. */
            versions: components["schemas"]["Receipt"][];
        };
        PackageDetailResponse: {
            data: components["schemas"]["PackageDetail"];
        };
        /** @description A paused channel. */
        PausedName: {
            /** @description The principal that paused it, or `on_repeated_failure`. */
            by: string;
            /** @description Name of the channel. */
            channel: string;
            /** @description The reason. */
            reason: string;
            /**
             * Format: date-time
             * @description Time since which it is paused.
             */
            since: string;
            /**
             * Format: date-time
             * @description Time at which it resumes by itself; `null` if an operator must resume it.
             */
            until: string | null;
        };
        /** @description The body of the request to pause a channel. */
        PauseRequest: {
            /** @description The reason, for operators; at most 1000 characters. */
            reason: string;
            /** @description Time at which the channel resumes by itself, RFC 3339; without it an operator must resume it. */
            until?: string | null;
        };
        /** @description A version of a plugin. */
        Plugin: {
            /**
             * Format: date-time
             * @description Time of its creation.
             */
            created_at: string;
            /** @description The digest of the component. */
            digest: string;
            /** @description The state of the component on this node: `compiling`, `ready` or `failed`; absent unless the version is active. */
            load?: string;
            /** @description The reason for which the component cannot be used on this node. */
            load_error?: string;
            /** @description The manifest: the functions and their inputs. */
            manifest: {
                [key: string]: unknown;
            };
            /** @description Its id: the name in its manifest. */
            plugin_id: string;
            /** @description True if the component came with a signature. */
            signed: boolean;
            /**
             * @description The lifecycle status of the version.
             * @enum {string}
             */
            status: "draft" | "active" | "archived";
            /**
             * Format: date-time
             * @description Time of its last change.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description The number of the version.
             */
            version: number;
        };
        PluginList: {
            data: components["schemas"]["Plugin"][];
        };
        PluginPage: {
            data: components["schemas"]["Plugin"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The body of the requests that store a draft of a plugin. */
        PluginRequest: {
            /** @description The component in base64. */
            component: string;
            /** @description The manifest: `abi`, `name`, `version`, `functions` and, if it lowers bounds, `limits`. */
            manifest: {
                [key: string]: unknown;
            };
            /** @description The line of its signature: base64 of Ed25519 over `sha256:` and the hash of the component. */
            signature?: string | null;
        };
        PluginResponse: {
            data: components["schemas"]["Plugin"];
        };
        /** @description The components of the active plugins on this node. */
        PluginsHealth: {
            /** @description The ids of those that are still compiled; calls of them are answered with 503. */
            compiling: string[];
            /** @description Those that cannot be used; the workflows that call them are quarantined. */
            failed: components["schemas"]["FailedPlugin"][];
            /** @description The ids of the plugins whose components are compiled. */
            ready: string[];
        };
        /** @description The body of the request that activates or archives a plugin. */
        PluginStatusRequest: {
            /**
             * @description `active` serves the draft, `archived` takes it out of service.
             * @enum {string}
             */
            status: "active" | "archived";
        };
        /** @description The result of a trial of the system behind a connector. */
        Probe: {
            /** @description The type of the external system. */
            connector_type: string;
            /** @description The reason of a failure. */
            error?: string;
            /** @description The operation that was tried, or the stage that failed before it. */
            probe: string;
            /** @description `true` if the system answered. */
            reachable: boolean;
            /** @description `true` if this type of connector can be tried. */
            supported: boolean;
        };
        ProbeResponse: {
            data: components["schemas"]["Probe"];
        };
        /** @description The body of a purge. */
        PurgeRequest: {
            /**
             * Format: int64
             * @description Letters without a retry left are deleted if they are older than this number of hours.
             */
            older_than_hours: number;
        };
        /** @description The result of a purge. */
        PurgeResult: {
            /**
             * Format: int64
             * @description The age of the request.
             */
            older_than_hours: number;
            /**
             * Format: int64
             * @description Number of deleted letters.
             */
            purged: number;
        };
        PurgeResultResponse: {
            data: components["schemas"]["PurgeResult"];
        };
        /** @description A channel that could not be built and serves nothing. */
        QuarantinedChannel: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description Reason of the quarantine. */
            reason: string;
        };
        /** @description A channel in quarantine. */
        QuarantinedName: {
            /** @description Name of the channel. */
            channel: string;
            /** @description The reason. */
            reason: string;
        };
        /** @description A channel that serves despite a problem. */
        QuestionableChannel: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description The problems. */
            warnings: components["schemas"]["Issue"][];
        };
        /** @description The use of a quota by one key. */
        QuotaKeyUse: {
            /** @description The key: a principal, an address, or the result of `key_logic`. */
            key: string;
            /**
             * Format: int64
             * @description Requests that are left.
             */
            remaining: number;
            /**
             * Format: int64
             * @description Seconds until the window begins anew or, if it slides, has room again.
             */
            resets_in_secs: number;
            /**
             * Format: int64
             * @description Requests in the window, with those that other nodes have reserved and not admitted yet.
             */
            used: number;
        };
        /** @description The readiness of a node. */
        Readiness: {
            /** @description The components. */
            components: components["schemas"]["ReadinessComponents"];
            /** @description `ready` or `not_ready`. */
            status: string;
        };
        /** @description The components that decide about the readiness of a node. */
        ReadinessComponents: {
            /**
             * @description The state of the component.
             * @enum {string}
             */
            cluster_redis?: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            database: "ok" | "degraded" | "error";
            /**
             * @description The state of the component.
             * @enum {string}
             */
            engine: "ok" | "degraded" | "error";
            /** @description `true` from the end of the start to the beginning of the shutdown. */
            initialized: boolean;
            /**
             * @description The state of the component.
             * @enum {string}
             */
            kafka?: "ok" | "degraded" | "error";
            /**
             * @description The state of the packages of the node.
             * @enum {string}
             */
            packages?: "applying" | "ok";
            /** @description `compiling` while the components of plugins keep the node from being ready; else absent. */
            plugins?: string;
        };
        /** @description The receipt of a package version. */
        Receipt: {
            /** @description The hash of its content. */
            content_hash: string;
            /**
             * Format: date-time
             * @description Time of the first apply.
             */
            created_at: string;
            /** @description The entities of the package; absent if the apply did not report them. */
            inventory?: components["schemas"]["Inventory"];
            /** @description The name of the package. */
            name: string;
            /** @description The caller that wrote the receipt last. */
            principal: string;
            /**
             * @description The progress: `staged` while an apply has begun and not ended, then `applied`.
             * @enum {string}
             */
            state: "staged" | "applied";
            /**
             * Format: date-time
             * @description Time of the last change; the newest applied receipt is the current version.
             */
            updated_at: string;
            /** @description The version of the package. */
            version: string;
        };
        ReceiptPage: {
            data: components["schemas"]["Receipt"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The body that stores a receipt. */
        ReceiptRequest: {
            /** @description The hash of its content, such as `sha256:` and 64 hexadecimal digits. */
            content_hash: string;
            inventory?: null | components["schemas"]["Inventory"];
            /**
             * @description The progress: `staged` while an apply has begun and not ended, then `applied`.
             * @enum {string}
             */
            state: "staged" | "applied";
            /** @description The version of the package: at most 64 letters, digits, `.`, `_`, `-`. */
            version: string;
        };
        ReceiptResponse: {
            data: components["schemas"]["Receipt"];
        };
        /** @description The failures of one group in the last minutes. */
        RecentErrorGroup: {
            /** @description Name of the channel. */
            channel: string;
            /** @description Code of the error. */
            code: string | null;
            /**
             * Format: int64
             * @description Failures in the window. Each attempt at accepted work counts.
             */
            count: number;
            /**
             * Format: date-time
             * @description Instant of the first failure, whether it is in the window or not.
             */
            first_seen: string;
            /** @description Its id, a filter of every list of runs. */
            group: string;
            /**
             * Format: date-time
             * @description Begin of the last minute with a failure, or `first_seen` if that is later.
             */
            last_seen: string;
            /** @description The message, with ids, numbers and quoted texts replaced. */
            message: string;
            /** @description Failures of each minute of the window, the oldest first. */
            per_minute: number[];
            /** @description Id of the task whose error it is, if a task failed. */
            task: string | null;
            /** @description Id of the workflow, if one was chosen. */
            workflow: string | null;
        };
        /** @description The failures of the last minutes, by their counts: no row of a failure is read. */
        RecentErrors: {
            /**
             * Format: int64
             * @description Failures of all groups in the window.
             */
            failures: number;
            /** @description The groups with the most failures, the most frequent first. */
            groups: components["schemas"]["RecentErrorGroup"][];
            /**
             * Format: int32
             * @description Length of the window in minutes; the last one goes on.
             */
            minutes: number;
            /**
             * Format: int64
             * @description Number of groups with failures in the window.
             */
            total: number;
        };
        RecentErrorsResponse: {
            data: components["schemas"]["RecentErrors"];
        };
        /** @description A recorded run. */
        RecordingDetail: components["schemas"]["RecordingSummary"] & {
            /** @description The message, the calls with their answers, the instants and random values, and the end. */
            recording: unknown;
        };
        RecordingDetailResponse: {
            data: components["schemas"]["RecordingDetail"];
        };
        /** @description A recorded run without its content. */
        RecordingSummary: {
            /**
             * Format: int64
             * @description Length of the recording in bytes.
             */
            bytes: number;
            /** @description Name of the channel. */
            channel: string;
            /**
             * Format: date-time
             * @description Time of the row.
             */
            created_at: string;
            /** @description Its id. */
            id: string;
            /** @description The end of the run: `completed`, `failed`, `timed_out` or `cancelled`. */
            outcome: string;
            /** @description Id of the run, under which its trace is stored if it left one. */
            run_id: string;
            /** @description Key of the run. */
            run_key: string;
            /** @description The way in which the run began: `sync`, `async`, `cron`, `kafka` or `call`. */
            source: string;
            /** @description Id of the workflow. */
            workflow_id: string | null;
            /**
             * Format: int64
             * @description Version of the workflow.
             */
            workflow_version: number | null;
        };
        RecordingSummaryPage: {
            data: components["schemas"]["RecordingSummary"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The refusals of one guard for one reason. */
        RefusalCount: {
            /**
             * Format: int64
             * @description Number of refusals.
             */
            count: number;
            /** @description The reason as a sentence. */
            explanation: string;
            /** @description The guard, or `body`, `mailbox` or `pause`. */
            guard: string;
            /**
             * Format: date-time
             * @description The time of the last one.
             */
            last_seen: string;
            /** @description The inner reason, which no caller sees. */
            reason: string;
            /**
             * Format: int32
             * @description The status of the refusal; that of a repeat is 409, also if repeats are accepted.
             */
            status: number;
        };
        /** @description The settings of a file that was read again, by their paths. */
        ReloadedSettings: {
            /** @description Settings whose new value needs a restart. */
            needs_restart: string[];
            /** @description Settings whose new value is in effect on this node. */
            taken: string[];
        };
        /** @description The refusal that a request would meet. */
        RequestRefusal: {
            /** @description The code for the caller. */
            code: string;
            /** @description The reason as a sentence. */
            explanation: string;
            /** @description The guard that refuses, or `route`, `quarantine`, `body` or `pause`. */
            guard: string;
            /** @description The message for the caller. */
            message: string;
            /** @description The inner reason, which no caller sees. */
            reason: string;
            /**
             * Format: int32
             * @description The status for the caller.
             */
            status: number;
        };
        /** @description An accepted rerun. */
        RerunAccepted: {
            /** @description Id of its trace. */
            trace_id: string;
        };
        RerunAcceptedResponse: {
            data: components["schemas"]["RerunAccepted"];
        };
        /** @description The body of a rerun. */
        RerunRequest: {
            /** @description The payload, in place of the stored one. */
            payload?: unknown;
            /** @description The version of the workflow. */
            version: ("same" | "current") | number;
        };
        /** @description The body of the request to resume a channel. */
        ResumeRequest: {
            /** @description The reason, for the audit log. */
            reason?: string | null;
        };
        /** @description The body of a rollback. */
        RollbackRequest: {
            /**
             * Format: int64
             * @description The archived version to copy; by default the one that was active before.
             */
            to_version?: number | null;
        };
        /** @description The body of a change of the rollout: a share, steps, or a state. */
        RolloutChange: {
            gate?: null | components["schemas"]["GateTerms"];
            /**
             * Format: int64
             * @description Length of a step in seconds, 10 to 86,400; 300 by default.
             */
            interval_secs?: number | null;
            /** @description Name of the channel that gets a report when the version is rolled back. */
            on_rollback?: string | null;
            /** @description `true` ends a rollout that moves by itself; without it the change is refused while there is one. */
            override?: boolean | null;
            /**
             * Format: int64
             * @description Share of the traffic of the newer active version, 0 to 100 percent; 0 ends its trial.
             */
            rollout_percentage?: number | null;
            /**
             * @description `true` runs the version on every message after the older one did, without traffic and without effects; without
             *     the other keys of a plan.
             */
            shadow?: boolean | null;
            /**
             * @description Steers a rollout that moves by itself: `paused`, `watching` to go on, `promoted` to take all traffic now, or
             *     `aborted` to give all to the older version.
             */
            state?: string | null;
            /**
             * @description Shares of the traffic in percent, rising: the version goes from one to the next by itself, and takes all after
             *     the last one. Of a workflow with an older active version.
             */
            steps?: number[] | null;
        };
        /** @description A task that failed. */
        RunError: {
            /** @description Body of the outbound response, where the service is verbose. */
            body?: unknown;
            /** @description The class of the error. */
            code: string;
            /**
             * Format: int32
             * @description The index of the element of a `for_each`; of several within one another, of the innermost.
             */
            index?: number;
            /** @description The indexes of the elements of several `for_each` within one another, the outermost first. */
            indexes?: number[];
            /** @description A description; the same text for every error unless the service is verbose. */
            message: string;
            /**
             * Format: int32
             * @description Status of the outbound call, where the service is verbose.
             */
            status?: number;
            /** @description The task. */
            task_id?: string;
        };
        /** @description The response of a synchronous run, unless the workflow shapes it. */
        RunResponse: {
            /** @description The profile of the run, for a caller that asked for it. */
            _svc?: {
                [key: string]: unknown;
            };
            /** @description The `data` of the message after the run. */
            data: unknown;
            /** @description The tasks that failed. */
            errors: components["schemas"]["RunError"][];
            /** @description Id of the message. */
            id: string;
            /** @description The value of the header `x-request-id`, if tasks failed. */
            request_id?: string;
            /** @description `ok`, also if tasks failed and the workflow went on. */
            status: string;
        };
        /** @description The position of a schedule: every earlier instant is on record, no later one is. */
        ScheduleCursor: {
            /**
             * Format: date-time
             * @description The next instant to record.
             */
            next_fire_at: string;
            /**
             * Format: date-time
             * @description Time since which it is stopped, because the channel was archived or no node moved it.
             */
            paused_at?: string;
        };
        /** @description The explanation of an instant of a schedule. */
        ScheduleExplanation: {
            /**
             * Format: date-time
             * @description Time since which it serves.
             */
            active_since?: string;
            /**
             * Format: int64
             * @description Number of the version that serves; `null` for a channel that is archived or was never activated.
             */
            active_version: number | null;
            /**
             * Format: date-time
             * @description The instant that is explained.
             */
            at: string;
            /** @description Id of the channel. */
            channel_id: string;
            /** @description Name of the channel. */
            channel_name: string;
            /** @description The clocks of the database, by which schedules run, and of the node that answers. */
            clock: components["schemas"]["ClockComparison"];
            /** @description The position of the schedule in the ledger; absent until the schedule is planned for the first time. */
            cursor?: components["schemas"]["ScheduleCursor"];
            /** @description `true` if the schedule, as it is now, names the instant; `null` if it cannot be read. */
            due: boolean | null;
            /** @description The runs that hold the slots of the concurrency key; of a skipped occurrence those that held them then. */
            holders?: components["schemas"]["SlotHolder"][];
            /**
             * Format: date-time
             * @description The next instant of the schedule.
             */
            next: string | null;
            /** @description The occurrence that has the reason: that of the instant, or the row of the missed instants that it is one of. */
            occurrence?: components["schemas"]["OccurrenceExcerpt"];
            /** @description The pause of the channel. */
            paused?: components["schemas"]["ChannelPause"];
            /**
             * Format: int64
             * @description Place of a pending occurrence among all that wait for a worker, from 1.
             */
            position?: number;
            /** @description The last occurrence before the instant. */
            previous?: components["schemas"]["OccurrenceExcerpt"];
            /** @description Reason of the quarantine of the channel on the node that answers. */
            quarantined?: string;
            /**
             * @description The status of the occurrence that has the reason; without one `not_due`, `ahead`, `archived`,
             *     `quarantined`, `paused`, `unplanned` (due, and not on record yet), `expired` (older than the rows that are kept) or
             *     `not_recorded` (the schedule passed it without a record).
             */
            reason: string;
            /** @description The reason in one sentence. */
            sentence: string;
        };
        ScheduleExplanationResponse: {
            data: components["schemas"]["ScheduleExplanation"];
        };
        /** @description The schedules of a node. */
        SchedulesHealth: {
            /**
             * Format: int64
             * @description Unix time of the last pass over all schedules.
             */
            last_reconcile_at: number | null;
            /**
             * Format: int64
             * @description Number of leases that could not be renewed.
             */
            lease_renewal_failures: number;
            /**
             * Format: int64
             * @description Seconds for which the oldest pending occurrence has been due.
             */
            oldest_pending_age_secs: number | null;
            /** @description The reason why the component is degraded. */
            reason?: string;
            /**
             * Format: int64
             * @description Seconds since that pass.
             */
            reconcile_age_secs: number | null;
            /** @description Number of channels with a schedule. */
            scheduled_channels: number;
        };
        /** @description A difference of a run and its shadow. */
        ShadowDifference: {
            /** @description The kind, as in `kinds`. */
            kind: string;
            /** @description The description, a line each, without secrets. */
            lines: string[];
            /** @description The part that differs. */
            subject: string;
        };
        /** @description A run that differs from its shadow. */
        ShadowSample: {
            /** @description The differences. */
            differences: components["schemas"]["ShadowDifference"][];
            /**
             * Format: date-time
             * @description End of the shadow run.
             */
            ended_at: string;
            /** @description Id of the message. */
            message_id: string;
            /** @description Key of the run. */
            run_key: string;
        };
        /** @description The messages that both versions of a rollout ran, one of them as a shadow. */
        ShadowStatus: {
            /**
             * Format: int64
             * @description Number of those whose runs differ.
             */
            different: number;
            node: null | components["schemas"]["NodeShadows"];
            /**
             * Format: int64
             * @description Number of messages in the steps so far, of all nodes.
             */
            runs: number;
        };
        /** @description A record that a partition held back and that became a dead letter. */
        SkippedRecord: {
            /**
             * Format: int32
             * @description Number of dead letters that were written; only of a range.
             */
            dead_letters?: number | null;
            /**
             * Format: int64
             * @description The offset that the partition goes on at.
             */
            next_offset: number;
            /**
             * Format: int32
             * @description The number of the partition.
             */
            partition: number;
            /**
             * Format: int64
             * @description The offset of the record, or the first offset of those that cannot be unpacked.
             */
            skipped_offset: number;
            /** @description The topic. */
            topic: string;
        };
        SkippedRecordResponse: {
            data: components["schemas"]["SkippedRecord"];
        };
        /** @description A run that holds or held a slot of the concurrency key. */
        SlotHolder: {
            /** @description Name of its channel when its row was written. */
            channel_name: string;
            /** @description The worker that runs it, or ran it. */
            claimed_by?: string;
            /**
             * Format: date-time
             * @description End of its run; absent while it runs.
             */
            completed_at?: string;
            /** @description Id of its occurrence. */
            occurrence_id: string;
            /**
             * Format: date-time
             * @description Start of its run.
             */
            started_at?: string;
        };
        /** @description The body of a change of status. */
        StatusChange: {
            gate?: null | components["schemas"]["GateTerms"];
            /**
             * Format: int64
             * @description Length of a step in seconds, 10 to 86,400; 300 by default.
             */
            interval_secs?: number | null;
            /** @description Name of the channel that gets a report when the version is rolled back. */
            on_rollback?: string | null;
            /** @description `true` archives the version that shares the traffic now, so that this one can take its place. */
            replace_canary?: boolean | null;
            /**
             * Format: int64
             * @description Share of the traffic in percent, of a workflow; 100 by default.
             */
            rollout_percentage?: number | null;
            /**
             * @description `true` runs the version on every message after the older one did, without traffic and without effects; without
             *     the other keys of a plan.
             */
            shadow?: boolean | null;
            /**
             * @description `active` serves the draft, `archived` takes it out of service.
             * @enum {string}
             */
            status: "active" | "archived";
            /**
             * @description Shares of the traffic in percent, rising: the version goes from one to the next by itself, and takes all after
             *     the last one. Of a workflow with an older active version.
             */
            steps?: number[] | null;
        };
        /** @description An error of a submission. */
        SubmissionError: {
            /** @description The class of the error. */
            code: string;
            /** @description The task. */
            task_id?: string;
        };
        /** @description The response to an accepted asynchronous submission. */
        SubmissionReceipt: {
            /** @description Id of the trace, which shows the result. */
            trace_id: string;
            /** @description The token that reads it, in the header `x-trace-token`. */
            trace_token: string;
        };
        /** @description The state of a submission, as the holder of its token sees it. */
        SubmissionState: {
            /**
             * Format: int64
             * @description Number of the newest attempt, from 1.
             */
            attempt: number;
            /** @description Name of the channel. */
            channel: string;
            /**
             * Format: date-time
             * @description End of the last attempt.
             */
            completed_at?: string;
            /**
             * Format: date-time
             * @description Instant of the acceptance.
             */
            created_at: string;
            /** @description The result of a completed submission: the `data` that a synchronous run answers with. */
            data?: unknown;
            /**
             * Format: date-time
             * @description Instant before which it does not run, if its submitter chose one.
             */
            deliver_at?: string;
            /**
             * Format: double
             * @description Duration of the newest attempt in milliseconds.
             */
            duration_ms?: number;
            /** @description The errors of the newest attempt. */
            errors?: components["schemas"]["SubmissionError"][];
            /** @description Its id: the trace that the 202 named. */
            id: string;
            /** @description The same in the form in which a trace shows it to operators: `{"context": {"data": …}}`. */
            message?: {
                [key: string]: unknown;
            };
            /** @description `async`. */
            mode: string;
            /**
             * Format: date-time
             * @description Instant at which the next attempt is due.
             */
            next_retry_at?: string;
            /**
             * Format: date-time
             * @description Start of the first attempt.
             */
            started_at?: string;
            /** @description `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`. */
            status: string;
        };
        SubmissionStateResponse: {
            data: components["schemas"]["SubmissionState"];
        };
        /** @description The counts of a task. */
        TaskStats: {
            /**
             * Format: int64
             * @description Number of those in which it failed, also if the workflow tolerates that.
             */
            errors: number;
            /** @description The function that it calls. */
            function: string;
            /**
             * Format: int64
             * @description Number of times that it ran: once for each sweep of a loop, not at all in a run that skips it.
             */
            runs: number;
            /** @description Id of the task. */
            task: string;
            /**
             * Format: double
             * @description The time that it took in total, in milliseconds.
             */
            total_ms: number;
        };
        /** @description A certificate that could not be replaced. */
        TlsHealth: {
            /** @description The reason. */
            reason: string;
        };
        /** @description A channel that a change touches. */
        TouchedChannel: {
            /** @description Id of the channel. */
            channel_id: string;
            /**
             * @description The reference that leads to the change: `itself`, `runs`, `calls`, `uses`, or `on_failure` for a channel whose
             *     failures are reported to one of these.
             */
            how: string;
            /** @description Methods of its route; absent if it takes all, or has none. */
            methods?: string[];
            /** @description Name of the channel. */
            name: string;
            /** @description The transport. */
            protocol: string;
            /** @description Its quota, as this node serves it. */
            quota?: components["schemas"]["TouchedQuota"];
            /** @description Pattern of its route. */
            route_pattern?: string;
            /** @description Expression of its schedule. */
            schedule?: string;
            /** @description The definition that it refers to; absent for the changed one. */
            through?: string;
            /** @description Topic of its records. */
            topic?: string;
            /** @description Its runs. */
            traffic: components["schemas"]["ChannelTraffic"];
        };
        /** @description The quota of a channel that a change touches. */
        TouchedQuota: {
            /**
             * Format: int64
             * @description Requests of a key within the window.
             */
            limit: number;
            /** @description The length of the window. */
            per: string;
        };
        /** @description A workflow that a change touches. */
        TouchedWorkflow: {
            /** @description The reference that leads to the change: `itself`, `calls` or `uses`. */
            how: string;
            /** @description Name of the workflow. */
            name: string;
            /** @description The definition that it refers to; absent for the changed one. */
            through?: string;
            /** @description Id of the workflow. */
            workflow_id: string;
        };
        /** @description A trace with its result. */
        Trace: {
            /**
             * Format: int64
             * @description Number of the newest attempt at this work; of a later attempt its own.
             */
            attempt: number;
            /** @description Id of the work that this is a later attempt of. */
            attempt_of?: string;
            /** @description The attempts at accepted work, the first one first. */
            attempts?: components["schemas"]["TraceAttempt"][];
            /**
             * Format: date-time
             * @description Instant of the order to cancel it.
             */
            cancel_requested_at?: string;
            /** @description The principal who cancelled it. */
            cancelled_by?: string;
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string | null;
            /**
             * Format: date-time
             * @description End of the run.
             */
            completed_at?: string;
            /**
             * Format: date-time
             * @description Instant of the first write.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Instant before which it does not run, if its submitter chose one.
             */
            deliver_at?: string;
            /** @description Id of the distributed trace in which its spans are exported; of accepted work, that of its submission. */
            distributed_trace_id?: string;
            /** @description Address of that distributed trace, if the setting `tracing.ui_url` names one. */
            distributed_trace_url?: string;
            /**
             * Format: double
             * @description Duration of the run in milliseconds.
             */
            duration_ms?: number;
            /** @description Reason of the failure of the newest attempt. */
            error?: string;
            /** @description Code of the error that ended the run, or of the first one that it went on after. */
            error_code?: string;
            /** @description The errors of its tasks; of a completed run those that its workflow tolerated. */
            errors?: {
                [key: string]: unknown;
            }[];
            /** @description Its id. */
            id: string;
            /**
             * @description The calls that had left when its run was cancelled: `task_id`, `function` and `connector` of each. The called
             *     systems may have carried them out.
             */
            in_flight?: {
                [key: string]: unknown;
            }[];
            /** @description The result of a completed run, without metadata. Its form depends on the mode. */
            message?: unknown;
            /** @description `sync`, `async`, `kafka` or `cron`. */
            mode: string;
            /**
             * Format: date-time
             * @description Instant at which the next attempt is due.
             */
            next_retry_at?: string;
            /** @description The value of `x-request-id` of the request that it came with. */
            request_id: string | null;
            /** @description Id of the trace that it runs again. */
            rerun_of?: string;
            /** @description Ids of the traces that run it again, the oldest first, at most 100. */
            reruns?: string[];
            /**
             * Format: date-time
             * @description Start of the run.
             */
            started_at?: string;
            /** @description `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`. */
            status: string;
            /** @description The steps of the run, of the first attempt at accepted work; where the channel records them. */
            task_trace_json?: {
                [key: string]: unknown;
            };
            /** @description The reason for which accepted work does not run yet. */
            waits_for?: components["schemas"]["TraceWait"];
            /** @description Id of the workflow that was chosen for the run. */
            workflow_id: string | null;
            /**
             * Format: int64
             * @description Version of that workflow.
             */
            workflow_version: number | null;
        };
        /** @description An attempt at accepted work. */
        TraceAttempt: {
            /**
             * Format: int64
             * @description Its number, from 1.
             */
            attempt: number;
            /**
             * Format: date-time
             * @description End of the run.
             */
            completed_at?: string;
            /**
             * Format: double
             * @description Duration of the run in milliseconds.
             */
            duration_ms?: number;
            /** @description Reason of the failure. */
            error?: string;
            /**
             * Format: date-time
             * @description Start of the run.
             */
            started_at?: string;
            /** @description `pending`, `scheduled`, `waiting`, `running`, `completed`, `failed` or `cancelled`. */
            status: string;
            /** @description Id of its trace. */
            trace_id: string;
        };
        /** @description A page of traces. */
        TracePage: {
            /** @description Number of rows by status, with `include_counts=true`. */
            counts?: {
                [key: string]: number;
            };
            /** @description The rows of the page. */
            data: components["schemas"]["TraceSummary"][];
            /**
             * Format: int64
             * @description The applied limit.
             */
            limit: number;
            /** @description Cursor of the next page, if more rows may follow in the default order. */
            next_cursor?: string;
            /**
             * Format: int64
             * @description The applied offset.
             */
            offset: number;
            /**
             * Format: date-time
             * @description The instant up to which rows were read, if that many were read that the page is not full.
             */
            scanned_until?: string;
            /**
             * Format: int64
             * @description Number of matching rows on all pages, with `include_total=true`.
             */
            total?: number;
        };
        TraceResponse: {
            data: components["schemas"]["Trace"];
        };
        /** @description A trace without payload and result. */
        TraceSummary: {
            /**
             * Format: int64
             * @description Number of the newest attempt at this work; of a later attempt its own.
             */
            attempt: number;
            /** @description Id of the work that this is a later attempt of. */
            attempt_of?: string;
            /** @description Name of the channel. */
            channel: string;
            /** @description Id of the channel. */
            channel_id: string | null;
            /**
             * Format: date-time
             * @description End of the run.
             */
            completed_at: string | null;
            /**
             * Format: date-time
             * @description Instant of the first write.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Instant before which it does not run, if its submitter chose one.
             */
            deliver_at?: string;
            /**
             * Format: double
             * @description Duration of the run in milliseconds.
             */
            duration_ms: number | null;
            /** @description Code of the error that ended the run, or of the first one that it went on after. */
            error_code: string | null;
            /** @description Group of the failure, as the list of errors names it. */
            error_group: string | null;
            /** @description Reason of the failure. */
            error_message: string | null;
            /** @description Its id. */
            id: string;
            /** @description `sync`, `async`, `kafka` or `cron`. */
            mode: string;
            /**
             * Format: date-time
             * @description Instant at which the next attempt is due.
             */
            next_retry_at?: string;
            /** @description The value of `x-request-id` of the request that it came with. */
            request_id: string | null;
            /** @description Id of the trace that it runs again. */
            rerun_of?: string;
            /**
             * Format: date-time
             * @description Start of the run.
             */
            started_at: string | null;
            /** @description `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`. */
            status: string;
            /**
             * Format: date-time
             * @description Instant of the last write.
             */
            updated_at: string;
            /** @description Id of the workflow that was chosen for the run. */
            workflow_id: string | null;
            /**
             * Format: int64
             * @description Version of that workflow.
             */
            workflow_version: number | null;
        };
        /** @description The reason for which accepted work does not run yet. */
        TraceWait: {
            /** @description The node that has it, or the trace of work that has the share that it waits for. */
            holder?: string;
            /**
             * Format: int64
             * @description Its place among the work that waits for the same, from 1.
             */
            position?: number;
            /** @description `queue`, `scheduled`, `retry`, `paused`, `quarantined`, `share`, `permit` or `lease`; more may follow. */
            reason: string;
            /** @description The reason in one sentence. */
            sentence: string;
            /**
             * Format: date-time
             * @description Time since which it waits for this reason.
             */
            since: string;
            /**
             * Format: date-time
             * @description Time until which it waits, if one is known.
             */
            until?: string;
        };
        /** @description A step of a trial run. */
        TrialStep: {
            /** @description The writes of the step: `{path, old_value, new_value}`. */
            changes?: {
                [key: string]: unknown;
            }[];
            /**
             * Format: int64
             * @description Duration in microseconds.
             */
            duration_us?: number;
            /** @description The function of a step that ran. */
            function?: string;
            /**
             * Format: int64
             * @description The index of the element, in a fan-out.
             */
            index?: number;
            /**
             * Format: int64
             * @description The counter of the sweep, in a loop.
             */
            loop_counter?: number;
            /** @description The context before each mapping, of `map`. */
            mapping_contexts?: unknown[];
            /** @description `{data, metadata, temp_data}` after the step. */
            message?: {
                [key: string]: unknown;
            };
            /**
             * @description The result of the step.
             * @enum {string}
             */
            result: "executed" | "skipped" | "failed";
            /**
             * Format: date-time
             * @description Start of the step.
             */
            started_at?: string;
            /** @description The connector or channel that the step called. */
            target?: string;
            /** @description Id of the task; `null` if the condition of the whole workflow was not satisfied. */
            task_id: string | null;
            /** @description Id of the workflow. */
            workflow_id: string;
        };
        /** @description The steps of a trial run. */
        TrialTrace: {
            /** @description The steps, in order. */
            steps: components["schemas"]["TrialStep"][];
            /** @description `true` if snapshots were left out because they took too much space. */
            truncated?: boolean;
        };
        /** @description The report of a validation, or of a request with `dry_run=true`. */
        Validation: {
            /** @description Problems for which the real request would be refused. */
            errors: components["schemas"]["Issue"][];
            /** @description `true` if the real request would not be refused. */
            valid: boolean;
            /** @description Problems for which it would not be refused. */
            warnings: components["schemas"]["Issue"][];
        };
        ValidationResponse: {
            data: components["schemas"]["Validation"];
        };
        Value: unknown;
        /** @description The body of the request for a new draft. */
        VersionRequest: {
            /**
             * Format: int64
             * @description The version to copy; by default the latest one.
             */
            from_version?: number | null;
        };
        /** @description An endpoint. */
        Webhook: {
            /** @description Name of the connector over which it is called. */
            connector: string;
            /** @description Name of the consumer that it belongs to. */
            consumer: string | null;
            /**
             * Format: date-time
             * @description Its registration.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The first failure since the last success.
             */
            failing_since: string | null;
            /** @description Its id. */
            id: string;
            /** @description The reason of a state other than `enabled`. */
            reason: string | null;
            /** @description The secret that signs its messages: after its registration and a rotation alone. */
            secret?: string;
            /**
             * @description `unverified` until it has echoed its challenge.
             * @enum {string}
             */
            state: "unverified" | "enabled" | "disabled";
            /** @description Its topics, in the order of their names. */
            topics: string[];
            /**
             * Format: date-time
             * @description Its last change.
             */
            updated_at: string;
            /** @description Its address. */
            url: string;
            /**
             * Format: date-time
             * @description The instant at which it echoed its challenge.
             */
            verified_at: string | null;
        };
        /** @description An attempt at an endpoint. */
        WebhookAttempt: {
            /**
             * Format: int64
             * @description Its number, from 1; 0 for a test event.
             */
            attempt: number;
            /**
             * Format: date-time
             * @description Its end.
             */
            created_at: string;
            /**
             * Format: int64
             * @description Duration in milliseconds.
             */
            duration_ms: number;
            /** @description The reason of a failure. */
            error: string | null;
            /** @description Its id. */
            id: string;
            /**
             * Format: int64
             * @description Status of the answer; `null` without one.
             */
            status: number | null;
            /** @description Topic of the event. */
            topic: string;
            /** @description Id of the event, the same at every attempt. */
            webhook_id: string;
        };
        WebhookAttemptPage: {
            data: components["schemas"]["WebhookAttempt"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The delivery of an event to an endpoint. */
        WebhookDelivery: {
            /**
             * Format: int64
             * @description Attempts since its acceptance, or its last replay.
             */
            attempts: number;
            /**
             * Format: date-time
             * @description Its acceptance.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Its end.
             */
            ended_at: string | null;
            /** @description Its id. */
            id: string;
            /** @description The reason of the last failure. */
            last_error: string | null;
            /**
             * Format: int64
             * @description Status of the last answer.
             */
            last_status: number | null;
            /**
             * Format: date-time
             * @description The next attempt; `null` once it has ended.
             */
            next_attempt_at: string | null;
            /**
             * @description The state of the delivery; `failed` is a dead letter.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed";
            /** @description Topic of the event. */
            topic: string;
            /** @description Id of the event. */
            webhook_id: string;
        };
        WebhookDeliveryPage: {
            data: components["schemas"]["WebhookDelivery"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description The way in which an endpoint is enabled. */
        WebhookEnabling: {
            /** @description `false` to enable it without a challenge. */
            verify?: boolean;
        };
        WebhookPage: {
            data: components["schemas"]["Webhook"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        /** @description A change of an endpoint. A member that is absent stays. */
        WebhookPatch: {
            /** @description Name of the connector over which it is called. */
            connector?: string;
            /** @description Name of the consumer that it belongs to; `null` for none. */
            consumer?: string | null;
            /** @description Its topics. */
            topics?: string[];
            /** @description Its address. Another one must be verified anew. */
            url?: string;
        };
        /** @description An endpoint that is to be registered. */
        WebhookRegistration: {
            /** @description Name of an `http` connector with `allow_urls`, over which it is called. */
            connector: string;
            /** @description Name of the consumer that it belongs to. */
            consumer?: string | null;
            /** @description The secret that signs its messages: `whsec_` and 24 to 64 bytes in base64. Without one it is generated. */
            secret?: string | null;
            /** @description Its topics, 64 at most; `*` for all. */
            topics: string[];
            /** @description Its address. The connector says which it allows. */
            url: string;
        };
        /** @description The deliveries that are made again. */
        WebhookReplay: {
            /**
             * Format: date-time
             * @description The acceptance of the first one that was left out: `since` of the next replay.
             */
            next_since: string | null;
            /** @description Their number, 10000 at most. */
            replayed: number;
        };
        /** @description The deliveries that are to be made again. */
        WebhookReplayRequest: {
            /** @description `true` for dead letters alone. */
            failed_only?: boolean;
            /**
             * Format: date-time
             * @description The earliest acceptance, inclusive.
             */
            since: string;
        };
        WebhookReplayResponse: {
            data: components["schemas"]["WebhookReplay"];
        };
        WebhookResponse: {
            data: components["schemas"]["Webhook"];
        };
        /** @description A new secret of an endpoint. */
        WebhookRotation: {
            /**
             * Format: int64
             * @description Seconds for which the former secret signs as well: a day by default, a week at most.
             */
            overlap_secs?: number;
            /** @description The secret; without one it is generated. */
            secret?: string | null;
        };
        /** @description The outcome of a test event. */
        WebhookTest: {
            /** @description `true` if the endpoint answered with 2xx. */
            delivered: boolean;
            /**
             * Format: int64
             * @description Duration in milliseconds.
             */
            duration_ms: number;
            /** @description The reason of a failure. */
            error: string | null;
            /**
             * Format: int64
             * @description Status of the answer; `null` without one.
             */
            status: number | null;
            /** @description Id of the event. */
            webhook_id: string;
        };
        WebhookTestResponse: {
            data: components["schemas"]["WebhookTest"];
        };
        /** @description A version of a workflow. */
        Workflow: {
            /**
             * Format: int64
             * @description Number of the version that serves, in lists and in the read of the latest version; of several the one with the
             *     largest share of the traffic. Absent if none serves.
             */
            active_version?: number;
            /** @description Expression that a message must satisfy. */
            condition: unknown;
            /** @description `sha256:` and the hash of the content, which status, rollout and times do not affect. */
            content_hash: string;
            /** @description `true` if the workflow continues after a failed task. */
            continue_on_error: boolean;
            /**
             * Format: date-time
             * @description Time of creation of the version.
             */
            created_at: string;
            /** @description Description, free text. */
            description: string | null;
            /** @description The loop block; absent if the workflow does not loop. */
            loop?: {
                [key: string]: unknown;
            };
            /** @description Display name. */
            name: string;
            /**
             * Format: int64
             * @description Priority among workflows; the highest runs first.
             */
            priority: number;
            /**
             * Format: int64
             * @description Percentage of the traffic that the version receives while it is active.
             */
            rollout_percentage: number;
            /**
             * @description The lifecycle status of the version.
             * @enum {string}
             */
            status: "draft" | "active" | "archived";
            /** @description Tags, by which lists are filtered. */
            tags: string[];
            /** @description Tasks and groups, in execution order. */
            tasks: {
                [key: string]: unknown;
            }[];
            /**
             * Format: date-time
             * @description Time of the last change of the row.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Number of the version, from 1.
             */
            version: number;
            /** @description Id, which all versions share. */
            workflow_id: string;
        };
        /** @description The connectors and channels that the latest version of a workflow uses. */
        WorkflowDependencies: {
            /** @description Names of the channels that tasks call. */
            channels: string[];
            /** @description The connectors and the functions that call them, each pair once. */
            connectors: components["schemas"]["ConnectorDependency"][];
            /** @description `true` if a task computes the name of the channel it calls. */
            has_dynamic_channel_calls: boolean;
            /**
             * Format: int64
             * @description Number of the version.
             */
            version: number;
            /** @description Id of the workflow. */
            workflow_id: string;
        };
        WorkflowDependenciesResponse: {
            data: components["schemas"]["WorkflowDependencies"];
        };
        WorkflowList: {
            data: components["schemas"]["Workflow"][];
        };
        WorkflowPage: {
            data: components["schemas"]["Workflow"][];
            /** @description The applied limit. */
            limit: number;
            /** @description The applied offset. */
            offset: number;
            /** @description Number of matching rows on all pages. */
            total: number;
        };
        WorkflowResponse: {
            data: components["schemas"]["Workflow"];
        };
        /** @description The traffic of the active versions of a workflow, and the rollout that moves it by itself. */
        WorkflowRollout: {
            canary: null | components["schemas"]["CanaryStatus"];
            /** @description The active versions, newest first. */
            versions: components["schemas"]["ActiveShare"][];
            /** @description Id of the workflow. */
            workflow_id: string;
        };
        WorkflowRolloutResponse: {
            data: components["schemas"]["WorkflowRollout"];
        };
        /** @description The counts of a version of a workflow on one node, since that node serves the version. */
        WorkflowStats: {
            /**
             * Format: int64
             * @description Number of runs that an error ended.
             */
            failed: number;
            /** @description Id of the node that answers; its memory has the counts, and each node has its own. */
            node: string;
            /**
             * Format: int64
             * @description Number of runs that ended.
             */
            runs: number;
            /** @description `true` if a channel of the node runs the version. */
            served: boolean;
            /**
             * Format: date-time
             * @description The time since which the node counts.
             */
            since: string | null;
            /** @description The tasks, in the order of the workflow; none if the node does not serve the version. */
            tasks: components["schemas"]["TaskStats"][];
            /**
             * Format: int64
             * @description The version.
             */
            version: number;
            /** @description Id of the workflow. */
            workflow_id: string;
        };
        WorkflowStatsResponse: {
            data: components["schemas"]["WorkflowStats"];
        };
        /** @description The body of a trial run. */
        WorkflowTrial: {
            /** @description The payload; `{}` by default. */
            data?: unknown;
            /** @description The metadata of the message. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description Answers that replace connectors and channels; without it both are called. */
            stubs?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description A definition to run in place of the latest version: the body of a create if the workflow is not stored, else that of
             *     a change, whose absent members keep what the latest version has. Nothing is stored.
             */
            workflow?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description The result of a trial run. */
        WorkflowTrialResult: {
            /** @description The calls that stubs answered, by function; only with stubs. */
            calls?: {
                [key: string]: unknown;
            };
            /** @description The failure that ended the run. */
            error?: string;
            /** @description The errors of tasks. */
            errors: {
                [key: string]: unknown;
            }[];
            /** @description `true` if connectors and channels were called, not replaced by stubs. */
            live: boolean;
            /** @description `true` if the condition of the workflow was satisfied. */
            matched: boolean;
            /** @description The `data` of the message after the run. */
            output: unknown;
            /** @description The steps. */
            trace: components["schemas"]["TrialTrace"];
        };
        WorkflowTrialResultResponse: {
            data: components["schemas"]["WorkflowTrialResult"];
        };
        /** @description The body of an update of a draft. An absent member keeps its value; `null` removes `description` and `loop` and keeps every other. Read-only members of a response are ignored. */
        WorkflowUpdate: {
            /** @description runs only where this is true */
            condition?: unknown;
            /** @description a failed task does not end the workflow */
            continue_on_error?: boolean | null;
            /** @description free text, at most 2048 bytes */
            description?: string | null;
            /** @description repeats the tasks */
            loop?: {
                [key: string]: unknown;
            } | null;
            /** @description the name */
            name?: string | null;
            /**
             * Format: int64
             * @description orders lists; the highest comes first
             */
            priority?: number | null;
            /** @description labels, for lists and exports */
            tags?: string[] | null;
            /** @description tasks and groups, in order */
            tasks?: {
                [key: string]: unknown;
            }[] | null;
        };
        WorkflowWarnedResponse: {
            data: components["schemas"]["Workflow"];
            /** @description Problems that do not prevent the request; absent if there are none. */
            warnings?: components["schemas"]["Issue"][];
        };
    };
    responses: {
        /** @description The request breaks a rule; `details` names each problem */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The state of the resource stands against the request */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The credential is valid and does not allow this */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The deadline of the run passed */
        GatewayTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The service met a fault; its log has the cause under `request_id` */
        InternalServerError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The path does not take this method; `Allow` lists those it takes */
        MethodNotAllowed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The request is for another node, which `message` names */
        MisdirectedRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The path or the resource does not exist */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The body is larger than the limit */
        PayloadTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The resource is not in the state that `If-Match` names */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The head of the request is too large */
        RequestHeaderFieldsTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The request did not arrive in time */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description A capacity is exhausted, or a component that is needed is away */
        ServiceUnavailable: {
            headers: {
                /** @description Seconds after which the request may be sent again */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description A rate limit is reached; wait for the seconds of `Retry-After` */
        TooManyRequests: {
            headers: {
                /** @description Seconds after which the request may be sent again */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The credential is missing, malformed or wrong */
        Unauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description The content type or the content encoding of the body is not taken */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listActors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tree */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActorTreeResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    restartActor: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
                /** @description Id of the node that the request is for; another node refuses it with 421 */
                node?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Path of the node, with its slashes
                 * @example traces/recorder
                 */
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActorNodeResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["MisdirectedRequest"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listAuditLogs: {
        parameters: {
            query?: {
                /** @description Only entries of these actions */
                action?: ("abort" | "backtest_end" | "backtest_start" | "bulk_end" | "bulk_start" | "cancel" | "create" | "create_version" | "delete" | "disable" | "drain" | "enable" | "import" | "invalidate" | "package_applied" | "package_staged" | "pause" | "purge" | "reencrypt" | "reload" | "requeue" | "replay" | "rerun" | "reset" | "restart" | "resume" | "retry" | "rollback" | "rotate" | "skip" | "status_active" | "status_archived" | "test" | "trigger" | "update" | "update_rollout")[];
                /** @description `next_cursor` of the page before, of the same list and `order` */
                cursor?: string;
                /** @description The same as `until` */
                end_time?: string;
                /** @description `false` leaves out `total`, whose count takes long among very many rows */
                include_total?: boolean;
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description Only entries of these callers */
                principal?: string[];
                /** @description Only entries about these resources */
                resource_id?: string[];
                /** @description Only entries about resources of these types */
                resource_type?: ("actor" | "backtest" | "backup" | "bulk_run" | "cache" | "channel" | "circuit_breaker" | "connector" | "consumer" | "consumer_key" | "cron_occurrence" | "engine" | "kafka_partition" | "node" | "package" | "plugin" | "recording" | "trace" | "trace_dlq" | "webhook" | "workflow")[];
                /** @description Only rows created at this instant or later */
                since?: string;
                /** @description The same as `since` */
                start_time?: string;
                /** @description Only rows created before this instant */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLogEntryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listBacktests: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of backtests */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestDetailPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getBacktest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the backtest
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The backtest */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestDetailResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    abortBacktest: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the backtest
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The backtest */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestDetailResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listBackups: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The files */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackupFileList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createBackup: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedBackupResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listBulkRuns: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of bulk runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkRunPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    startBulkRun: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "dead_letters",
                 *       "action": "requeue",
                 *       "filter": {
                 *         "channel": "orders"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["BulkRequest"];
            };
        };
        responses: {
            /** @description With `dry_run`: the number of the rows, and the oldest of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkDryRunResponse"];
                };
            };
            /** @description The run has begun */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkStartedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getBulkRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the bulk run
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkRunResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    abortBulkRun: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the bulk run
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkRunResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    invalidateCache: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "namespaces": [
                 *         "catalogue"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CacheInvalidationRequest"];
            };
        };
        responses: {
            /** @description The answers are stale */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidatedCachesResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listChannels: {
        parameters: {
            query?: {
                /** @description Only channels of this delivery mode; of no effect on workflows */
                channel_type?: "sync" | "async";
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description Only channels of this transport; of no effect on workflows */
                protocol?: "rest" | "http" | "kafka" | "cron";
                /** @description The column that orders the list; the first by default */
                sort_by?: "priority" | "name" | "status" | "created_at" | "updated_at" | "channel_type" | "protocol";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description `active`: only channels that serve, whatever their latest version is; `draft`: only those whose latest version is a draft; `archived`: only those whose latest version is archived and that do not serve */
                status?: ("draft" | "active" | "archived")[];
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of channels */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createChannel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "channel_id": "greetings",
                 *       "name": "greetings",
                 *       "channel_type": "sync",
                 *       "protocol": "rest",
                 *       "methods": [
                 *         "POST"
                 *       ],
                 *       "route_pattern": "/greetings",
                 *       "workflow_id": "greeting"
                 *     }
                 */
                "application/json": components["schemas"]["NewChannel"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The draft */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The channel */
            200: {
                headers: {
                    /** @description The state that the body shows, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateChannel: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "Greets the caller by name"
                 *     }
                 */
                "application/json": components["schemas"]["ChannelUpdate"];
            };
        };
        responses: {
            /** @description The draft; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteChannel: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `true` deletes although active definitions need it */
                force?: boolean;
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The channel is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    backfillChannel: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example nightly
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from": "2026-01-01T00:00:00Z",
                 *       "until": "2026-01-02T00:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["BackfillRequest"];
            };
        };
        responses: {
            /** @description With `dry_run`: the instants */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillDryRunResponse"];
                };
            };
            /** @description The backfill has begun */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkStartedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    startChannelBacktest: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example orders
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": "draft",
                 *       "filter": {
                 *         "outcome": "completed"
                 *       },
                 *       "limit": 1000
                 *     }
                 */
                "application/json": components["schemas"]["BacktestRequest"];
            };
        };
        responses: {
            /** @description The backtest is on record */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestStartedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getChannelImpact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reach */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DefinitionImpactResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pauseChannel: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "the greeter is down"
                 *     }
                 */
                "application/json": components["schemas"]["PauseRequest"];
            };
        };
        responses: {
            /** @description The channel; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getChannelQuota: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The quota */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelQuotaResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    resumeChannel: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "reason": "the greeter is back"
                 *     }
                 */
                "application/json": components["schemas"]["ResumeRequest"];
            };
        };
        responses: {
            /** @description The channel; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rollBackChannel: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `now`, the default, serves the change before the response; `defer` with the next reload of the engine */
                reload?: "now" | "defer";
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "to_version": 1
                 *     }
                 */
                "application/json": components["schemas"]["RollbackRequest"];
            };
        };
        responses: {
            /** @description The new version; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getChannelStats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelStatsResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeChannelStatus: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `now`, the default, serves the change before the response; `defer` with the next reload of the engine */
                reload?: "now" | "defer";
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "active"
                 *     }
                 */
                "application/json": components["schemas"]["StatusChange"];
            };
        };
        responses: {
            /** @description The channel; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    testChannel: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "method": "POST",
                 *       "path": "/api/v1/data/greetings",
                 *       "headers": {
                 *         "content-type": "application/json"
                 *       },
                 *       "body": {
                 *         "name": "Ada"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["GuardTrialRequest"];
            };
        };
        responses: {
            /** @description The verdict of the guards */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GuardTrialResultResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    triggerChannel: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example nightly
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The occurrence */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccurrenceResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listChannelVersions: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createChannelVersion: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the channel
                 * @example greetings
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "from_version": 1
                 *     }
                 */
                "application/json": components["schemas"]["VersionRequest"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The draft */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    explainSchedule: {
        parameters: {
            query?: {
                /** @description The instant, or a time before now, such as `-15m`; without it now */
                at?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the channel
                 * @example nightly
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The explanation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleExplanationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportChannels: {
        parameters: {
            query?: {
                /** @description Only channels of this delivery mode; of no effect on workflows */
                channel_type?: "sync" | "async";
                /** @description Of no effect: the response has no pages */
                limit?: string;
                /** @description Of no effect: the response has no pages */
                offset?: string;
                /** @description Only channels of this transport; of no effect on workflows */
                protocol?: "rest" | "http" | "kafka" | "cron";
                /** @description The column that orders the list; the first by default */
                sort_by?: "priority" | "name" | "status" | "created_at" | "updated_at" | "channel_type" | "protocol";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description Only channels whose latest version has one of these statuses */
                status?: ("draft" | "active" | "archived")[];
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The channels */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importChannels: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description The action for a key that exists; `fail` by default */
                on_conflict?: "fail" | "skip" | "new_version";
            };
            header?: {
                /** @description The signature of the body, which is the file of a package: the line of the file that `package sign` writes. With `packages.trust.required` an import without one, or with a wrong one, is refused with 403 `UNTRUSTED_PACKAGE` */
                "x-svc-package-signature"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example [
                 *       {
                 *         "channel_id": "imported",
                 *         "name": "imported",
                 *         "channel_type": "sync",
                 *         "protocol": "rest",
                 *         "methods": [
                 *           "POST"
                 *         ],
                 *         "route_pattern": "/imported",
                 *         "workflow_id": "greeting"
                 *       }
                 *     ]
                 */
                "application/json": components["schemas"]["ImportBatch"];
            };
        };
        responses: {
            /** @description The result of each item */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReportResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pauseChannels: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "filter": {
                 *         "tag": "greeting"
                 *       },
                 *       "reason": "the greeter is down"
                 *     }
                 */
                "application/json": components["schemas"]["BulkPauseRequest"];
            };
        };
        responses: {
            /** @description The paused channels; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelPauseStatusList"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    resumeChannels: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "filter": {
                 *         "tag": "greeting"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["BulkResumeRequest"];
            };
        };
        responses: {
            /** @description The resumed channels; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelPauseStatusList"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    validateChannel: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "greetings",
                 *       "channel_type": "sync",
                 *       "protocol": "rest",
                 *       "methods": [
                 *         "POST"
                 *       ],
                 *       "route_pattern": "/greetings",
                 *       "workflow_id": "greeting"
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The configuration */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectiveConfigResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listConnectors: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description The column that orders the list; the first by default */
                sort_by?: "name" | "connector_type" | "created_at" | "updated_at";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of connectors */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createConnector: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "crm",
                 *       "name": "crm",
                 *       "connector_type": "http",
                 *       "config": {
                 *         "url": "https://crm.example.com"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NewConnector"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The connector */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorWarnedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connector */
            200: {
                headers: {
                    /** @description The state that the body shows, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorWarnedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateConnector: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "tags": [
                 *         "sales"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ConnectorUpdate"];
            };
        };
        responses: {
            /** @description The connector; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteConnector: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `true` deletes although active definitions need it */
                force?: boolean;
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The connector is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listConnectorCalls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The calls */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorCallsResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getConnectorImpact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reach */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DefinitionImpactResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeConnectorStatus: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `now`, the default, serves the change before the response; `defer` with the next reload of the engine */
                reload?: "now" | "defer";
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "active"
                 *     }
                 */
                "application/json": components["schemas"]["StatusChange"];
            };
        };
        responses: {
            /** @description The connector; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    testConnector: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the connector
                 * @example crm
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result of the trial */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProbeResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listCircuitBreakers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The circuit breakers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BreakerMapResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    resetCircuitBreaker: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
                /** @description Id of the node that the request is for; another node refuses it with 421 */
                node?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Channel and connector: `channel:connector`
                 * @example greetings:crm
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The circuit breaker is closed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BreakerResetResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["MisdirectedRequest"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportConnectors: {
        parameters: {
            query?: {
                /** @description Of no effect: the response has no pages */
                limit?: string;
                /** @description Of no effect: the response has no pages */
                offset?: string;
                /** @description The column that orders the list; the first by default */
                sort_by?: "name" | "connector_type" | "created_at" | "updated_at";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connectors */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorExportList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importConnectors: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description The action for a key that exists; `fail` by default */
                on_conflict?: "fail" | "skip" | "new_version";
            };
            header?: {
                /** @description The signature of the body, which is the file of a package: the line of the file that `package sign` writes. With `packages.trust.required` an import without one, or with a wrong one, is refused with 403 `UNTRUSTED_PACKAGE` */
                "x-svc-package-signature"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example [
                 *       {
                 *         "name": "imported",
                 *         "connector_type": "http",
                 *         "config": {
                 *           "url": "https://imported.example.com"
                 *         }
                 *       }
                 *     ]
                 */
                "application/json": components["schemas"]["ImportBatch"];
            };
        };
        responses: {
            /** @description The result of each item */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReportResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    validateConnector: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "crm",
                 *       "connector_type": "http",
                 *       "config": {
                 *         "url": "https://crm.example.com"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listConsumers: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of consumers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsumerPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createConsumer: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "acme",
                 *       "tags": [
                 *         "gold"
                 *       ],
                 *       "quota": {
                 *         "limit": 10000,
                 *         "per": "day"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ConsumerRequest"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The consumer */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsumerResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getConsumer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the consumer
                 * @example acme
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The consumer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsumerResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteConsumer: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Name of the consumer
                 * @example acme
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The consumer is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeConsumer: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Name of the consumer
                 * @example acme
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "tags": [
                 *         "gold",
                 *         "eu"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ConsumerChange"];
            };
        };
        responses: {
            /** @description The consumer; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsumerResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listConsumerKeys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the consumer
                 * @example acme
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsumerKeyList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createConsumerKey: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Name of the consumer
                 * @example acme
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "api_key"
                 *     }
                 */
                "application/json": components["schemas"]["ConsumerKeyRequest"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The key with its secret */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedConsumerKeyResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteConsumerKey: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the key
                 * @example 01890a5d-ac96-774b-bcce-b302099a8057
                 */
                id: string;
                /**
                 * @description Name of the consumer
                 * @example acme
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The key is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listOccurrences: {
        parameters: {
            query?: {
                /** @description Only rows of the channels of these names */
                channel?: string[];
                /** @description Only occurrences of these channels */
                channel_id?: string[];
                /** @description `next_cursor` of the page before, of the same list and `order` */
                cursor?: string;
                /** @description Only rows with these codes of errors */
                error_code?: string[];
                /** @description Only failures of these groups, as the list of errors names them */
                error_group?: string[];
                /** @description `true` adds the number of rows by status, whichever `status` selects; one of 10000 means as many or more. With a range of time or words other than `channel`, and of dead letters, the newest 20000 rows of the range count */
                include_counts?: boolean;
                /** @description `false` leaves out `total`, whose count takes long among very many rows */
                include_total?: boolean;
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description Only runs with these keys, `metadata.run.key` */
                run_key?: string[];
                /** @description Only occurrences due at this instant or later */
                since?: string;
                /** @description Only occurrences of these statuses */
                status?: ("pending" | "claimed" | "running" | "completed" | "failed" | "skipped_misfire" | "skipped_singleton" | "cancelled")[];
                /** @description Only rows of channels with one of exactly these labels */
                tag?: string[];
                /** @description Only failures by an error of these tasks */
                task?: string[];
                /** @description Only rows of these traces */
                trace_id?: string[];
                /** @description Only occurrences due at this instant or earlier */
                until?: string;
                /** @description Only occurrences that these versions of the channel ran */
                version?: number[];
                /** @description Only rows of these workflows */
                workflow?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of occurrences */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccurrencePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getOccurrence: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the occurrence
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The occurrence */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccurrenceResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cancelOccurrence: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
                /** @description `true` tells the channel that `on_failure` names */
                report?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the occurrence
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The occurrence, which has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccurrenceResponse"];
                };
            };
            /** @description The occurrence, which has not ended within two seconds */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccurrenceResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    retryOccurrence: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the occurrence
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "version": "same"
                 *     }
                 */
                "application/json": components["schemas"]["OccurrenceRetry"];
            };
        };
        responses: {
            /** @description The occurrence, pending again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccurrenceResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSchedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronStatusList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDevProject: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The project */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DevProjectResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    reloadEngine: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stored definitions serve */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EngineReloadedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getEngineStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The status */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EngineStatusResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listErrors: {
        parameters: {
            query?: {
                /** @description Only rows of the channels of these names */
                channel?: string[];
                /** @description Only rows with these codes of errors */
                error_code?: string[];
                /** @description Only failures of these groups, as the list of errors names them */
                error_group?: string[];
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description Only groups with this text in their message, in whatever case */
                q?: string;
                /** @description Only failures at this instant or later count */
                since?: string;
                /** @description Only rows of channels with one of exactly these labels */
                tag?: string[];
                /** @description Only failures by an error of these tasks */
                task?: string[];
                /** @description Only failures before this instant count */
                until?: string;
                /** @description Only failures in these versions of the workflow count */
                version?: number[];
                /** @description Only rows of these workflows */
                workflow?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of groups */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorGroupPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listRecentErrors: {
        parameters: {
            query?: {
                /** @description Maximum number of groups; 20 by default, moved into 1 to 200 */
                limit?: number;
                /** @description Length of the window; 60 by default, moved into 1 to 60 */
                minutes?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The groups */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecentErrorsResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listFunctions: {
        parameters: {
            query?: {
                /** @description `true` shows the inputs of built-ins too */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The functions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogueEntryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listOperators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operators */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listKafkaPartitions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The partitions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KafkaPartitionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    skipKafkaRecord: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
                /** @description Id of the node that the request is for; another node refuses it with 421 */
                node?: string;
                /** @description Only if the record at this offset is the one held back */
                offset?: number;
                /** @description Gives up also the records before this offset at which an attempt fails; at most 1000 above the held one */
                until_offset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The number of the partition
                 * @example 0
                 */
                partition: string;
                /**
                 * @description The topic
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record is a dead letter */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkippedRecordResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["MisdirectedRequest"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    streamLive: {
        parameters: {
            query?: {
                /** @description Adds the history to the first picture: of the last hour by seconds, of the last day by minutes */
                history?: ("hour" | "day")[];
                /** @description `true` ends the stream after the first picture */
                once?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listNodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The nodes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    drainNode: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
                /** @description Id of the node that the request is for; another node refuses it with 421 */
                node?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node drains */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrainedNodeResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["MisdirectedRequest"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listPackages: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of receipts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPackage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the package
                 * @example orders
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The package */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PackageDetailResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    putPackageReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the package
                 * @example orders
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": "1.0.0",
                 *       "content_hash": "sha256:00",
                 *       "state": "staged"
                 *     }
                 */
                "application/json": components["schemas"]["ReceiptRequest"];
            };
        };
        responses: {
            /** @description The receipt; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listPlugins: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createPlugin: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "manifest": {
                 *         "abi": "svc:plugin@1.0.0",
                 *         "name": "tax",
                 *         "version": "1.0.0",
                 *         "functions": [
                 *           {
                 *             "name": "vat",
                 *             "description": "Adds the value-added tax",
                 *             "input_fields": [
                 *               {
                 *                 "name": "net",
                 *                 "kind": "number",
                 *                 "required": true
                 *               }
                 *             ]
                 *           }
                 *         ]
                 *       },
                 *       "component": "AGFzbQ0AAQA="
                 *     }
                 */
                "application/json": components["schemas"]["PluginRequest"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The draft */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPlugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the plugin
                 * @example tax
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    putPluginDraft: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the plugin
                 * @example tax
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "manifest": {
                 *         "abi": "svc:plugin@1.0.0",
                 *         "name": "tax",
                 *         "version": "1.0.0",
                 *         "functions": [
                 *           {
                 *             "name": "vat",
                 *             "description": "Adds the value-added tax",
                 *             "input_fields": [
                 *               {
                 *                 "name": "net",
                 *                 "kind": "number",
                 *                 "required": true
                 *               }
                 *             ]
                 *           }
                 *         ]
                 *       },
                 *       "component": "AGFzbQ0AAQA="
                 *     }
                 */
                "application/json": components["schemas"]["PluginRequest"];
            };
        };
        responses: {
            /** @description The draft; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePlugin: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the plugin
                 * @example tax
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The plugin is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPluginImpact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the plugin
                 * @example tax
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reach */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DefinitionImpactResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changePluginStatus: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the plugin
                 * @example tax
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "active"
                 *     }
                 */
                "application/json": components["schemas"]["PluginStatusRequest"];
            };
        };
        responses: {
            /** @description The version; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportPlugins: {
        parameters: {
            query?: {
                /** @description Only the plugin of this id */
                id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plugins */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportedPluginList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importPlugins: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description The action for a key that exists; `fail` by default */
                on_conflict?: "fail" | "skip" | "new_version";
            };
            header?: {
                /** @description The signature of the body, which is the file of a package: the line of the file that `package sign` writes. With `packages.trust.required` an import without one, or with a wrong one, is refused with 403 `UNTRUSTED_PACKAGE` */
                "x-svc-package-signature"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example [
                 *       {
                 *         "manifest": {
                 *           "abi": "svc:plugin@1.0.0",
                 *           "name": "rates",
                 *           "version": "1.0.0",
                 *           "functions": [
                 *             {
                 *               "name": "eur",
                 *               "description": "Converts to euros"
                 *             }
                 *           ]
                 *         },
                 *         "component": "AGFzbQ0AAQA="
                 *       }
                 *     ]
                 */
                "application/json": components["schemas"]["ImportBatch"];
            };
        };
        responses: {
            /** @description The result of each item */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReportResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listRecordings: {
        parameters: {
            query?: {
                /** @description Only recordings of the channel of this name */
                channel?: string;
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description Only recordings of runs with this end */
                outcome?: "completed" | "failed" | "timed_out" | "cancelled";
                /** @description Only recordings of the runs with this key, `metadata.run.key` */
                run_key?: string;
                /** @description Only recordings written at this instant or later */
                since?: string;
                /** @description Only recordings written before this instant */
                until?: string;
                /** @description Only recordings of this version of the workflow */
                version?: number;
                /** @description Only recordings of this workflow */
                workflow?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of recordings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordingSummaryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteRecordings: {
        parameters: {
            query?: {
                /** @description Only recordings of the channel of this name */
                channel?: string;
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description Only recordings of the runs with this key, `metadata.run.key` */
                run_key?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The number of deleted recordings; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedRecordingsResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getRecording: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the recording
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The recording */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordingDetailResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDocumentSchema: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `channel`, `workflow`, `connector`, `shared` or `case`
                 * @example workflow
                 */
                kind: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schema */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentSchemaResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listDeadLetters: {
        parameters: {
            query?: {
                /** @description Only rows of the channels of these names */
                channel?: string[];
                /** @description `next_cursor` of the page before, of the same list and `order` */
                cursor?: string;
                /** @description Only rows with these codes of errors */
                error_code?: string[];
                /** @description Only failures of these groups, as the list of errors names them */
                error_group?: string[];
                /** @description `true` lists letters without a retry left, `false` those with one */
                exhausted?: boolean;
                /** @description `true` adds the number of rows by status, whichever `status` selects; one of 10000 means as many or more. With a range of time or words other than `channel`, and of dead letters, the newest 20000 rows of the range count */
                include_counts?: boolean;
                /** @description `false` leaves out `total`, whose count takes long among very many rows */
                include_total?: boolean;
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description Only runs with these keys, `metadata.run.key` */
                run_key?: string[];
                /** @description Only rows created at this instant or later */
                since?: string;
                /** @description Only rows of channels with one of exactly these labels */
                tag?: string[];
                /** @description Only failures by an error of these tasks */
                task?: string[];
                /** @description Only rows of these traces */
                trace_id?: string[];
                /** @description Only rows created before this instant */
                until?: string;
                /** @description Only runs of these versions of the workflow */
                version?: number[];
                /** @description Only rows of these workflows */
                workflow?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of dead letters */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterSummaryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDeadLetter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the dead letter
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dead letter */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterDetailResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    requeueDeadLetter: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the dead letter
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dead letter; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterDetailResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    purgeDeadLetters: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "older_than_hours": 720
                 *     }
                 */
                "application/json": components["schemas"]["PurgeRequest"];
            };
        };
        responses: {
            /** @description The number of deleted letters; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PurgeResultResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTraces: {
        parameters: {
            query?: {
                /** @description `true` lists later attempts at accepted work, too */
                attempts?: boolean;
                /** @description Only rows of the channels of these names */
                channel?: string[];
                /** @description `next_cursor` of the page before, of the same list and `order` */
                cursor?: string;
                /** @description Only rows with these codes of errors */
                error_code?: string[];
                /** @description Only failures of these groups, as the list of errors names them */
                error_group?: string[];
                /** @description `true` adds the number of rows by status, whichever `status` selects; one of 10000 means as many or more. With a range of time or words other than `channel`, and of dead letters, the newest 20000 rows of the range count */
                include_counts?: boolean;
                /** @description `true` counts the matching rows */
                include_total?: boolean;
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Only runs that took so many milliseconds or longer */
                min_duration_ms?: number;
                /** @description Only runs of these origins */
                mode?: ("sync" | "async" | "kafka" | "cron")[];
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description Only the runs of these requests; of failed ones fast */
                request_id?: string[];
                /** @description Only reruns of these traces */
                rerun_of?: string[];
                /** @description Only runs with these keys, `metadata.run.key` */
                run_key?: string[];
                /** @description Only rows created at this instant or later */
                since?: string;
                /** @description The column that orders the list; the first by default */
                sort_by?: "created_at" | "updated_at" | "status" | "channel" | "mode" | "duration_ms" | "workflow_version" | "error_code";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description Only traces of these statuses */
                status?: ("pending" | "scheduled" | "running" | "retrying" | "completed" | "failed" | "cancelled")[];
                /** @description Only rows of channels with one of exactly these labels */
                tag?: string[];
                /** @description Only failures by an error of these tasks */
                task?: string[];
                /** @description Only rows of these traces */
                trace_id?: string[];
                /** @description Only rows created before this instant */
                until?: string;
                /** @description Only runs of these versions of the workflow */
                version?: number[];
                /** @description Only rows of these workflows */
                workflow?: string[];
                /** @description The same as `workflow` */
                workflow_id?: string[];
                /** @description The same as `version` */
                workflow_version?: number[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of traces */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TracePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTrace: {
        parameters: {
            query?: {
                /** @description The token of the submission, where the header `x-trace-token` cannot be sent */
                token?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the trace
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace, or the state of the submission */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TraceResponse"] | components["schemas"]["SubmissionStateResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cancelTrace: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
                /** @description `true` leaves a dead letter, and tells the channel that `on_failure` names */
                report?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the trace
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace, which has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TraceResponse"];
                };
            };
            /** @description The trace, which has not ended within two seconds */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TraceResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rerunTrace: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the trace
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": "current"
                 *     }
                 */
                "application/json": components["schemas"]["RerunRequest"];
            };
        };
        responses: {
            /** @description The rerun is accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RerunAcceptedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description Only endpoints of this consumer */
                consumer?: string;
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description Only endpoints in this state */
                state?: "unverified" | "enabled" | "disabled";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of endpoints */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createWebhook: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://hooks.example.com/in",
                 *       "topics": [
                 *         "order.paid"
                 *       ],
                 *       "connector": "customers"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookRegistration"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The endpoint, with its secret */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The endpoint is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateWebhook: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "topics": [
                 *         "order.paid",
                 *         "order.sent"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["WebhookPatch"];
            };
        };
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWebhookAttempts: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of attempts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAttemptPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description Only deliveries in this state */
                state?: "pending" | "delivered" | "failed";
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    enableWebhook: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "verify": false
                 *     }
                 */
                "application/json": components["schemas"]["WebhookEnabling"];
            };
        };
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    replayWebhooks: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-01-01T00:00:00Z",
                 *       "failed_only": true
                 *     }
                 */
                "application/json": components["schemas"]["WebhookReplayRequest"];
            };
        };
        responses: {
            /** @description The number of deliveries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReplayResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_secs": 3600
                 *     }
                 */
                "application/json": components["schemas"]["WebhookRotation"];
            };
        };
        responses: {
            /** @description The endpoint, with the new secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    testWebhook: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The outcome */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTestResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getCaller: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CallerIdentityResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWorkflows: {
        parameters: {
            query?: {
                /** @description Only channels of this delivery mode; of no effect on workflows */
                channel_type?: "sync" | "async";
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
                /** @description The direction of the default order of the list; goes with no `sort_by` */
                order?: "asc" | "desc";
                /** @description Only channels of this transport; of no effect on workflows */
                protocol?: "rest" | "http" | "kafka" | "cron";
                /** @description The column that orders the list; the first by default */
                sort_by?: "priority" | "name" | "status" | "created_at" | "updated_at";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description `active`: only workflows that serve, whatever their latest version is; `draft`: only those whose latest version is a draft; `archived`: only those whose latest version is archived and that do not serve */
                status?: ("draft" | "active" | "archived")[];
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of workflows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createWorkflow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "workflow_id": "greeting",
                 *       "name": "Greeting",
                 *       "tasks": [
                 *         {
                 *           "id": "greet",
                 *           "name": "Greet",
                 *           "function": {
                 *             "name": "map",
                 *             "input": {
                 *               "mappings": [
                 *                 {
                 *                   "path": "data.text",
                 *                   "logic": {
                 *                     "cat": [
                 *                       "Hello, ",
                 *                       {
                 *                         "var": "data.name"
                 *                       }
                 *                     ]
                 *                   }
                 *                 }
                 *               ]
                 *             }
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewWorkflow"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The draft */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowWarnedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWorkflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow */
            200: {
                headers: {
                    /** @description The state that the body shows, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowWarnedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateWorkflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "Greets the caller by name"
                 *     }
                 */
                "application/json": components["schemas"]["WorkflowUpdate"];
            };
        };
        responses: {
            /** @description The draft; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteWorkflow: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `true` deletes although active definitions need it */
                force?: boolean;
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The workflow is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    startBacktest: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": "draft",
                 *       "filter": {
                 *         "outcome": "completed"
                 *       },
                 *       "limit": 1000
                 *     }
                 */
                "application/json": components["schemas"]["BacktestRequest"];
            };
        };
        responses: {
            /** @description The backtest is on record */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestStartedResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWorkflowDependencies: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dependencies */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDependenciesResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWorkflowImpact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reach */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DefinitionImpactResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    rollBackWorkflow: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `now`, the default, serves the change before the response; `defer` with the next reload of the engine */
                reload?: "now" | "defer";
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "to_version": 1
                 *     }
                 */
                "application/json": components["schemas"]["RollbackRequest"];
            };
        };
        responses: {
            /** @description The new version; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWorkflowRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The shares and the rollout */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowRolloutResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeWorkflowRollout: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `now`, the default, serves the change before the response; `defer` with the next reload of the engine */
                reload?: "now" | "defer";
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "rollout_percentage": 100
                 *     }
                 */
                "application/json": components["schemas"]["RolloutChange"];
            };
        };
        responses: {
            /** @description The newer version; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getWorkflowStats: {
        parameters: {
            query?: {
                /** @description The version; by default the one that serves, of two the one with the larger share of the traffic, else the latest */
                version?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowStatsResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    changeWorkflowStatus: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description `now`, the default, serves the change before the response; `defer` with the next reload of the engine */
                reload?: "now" | "defer";
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "active"
                 *     }
                 */
                "application/json": components["schemas"]["StatusChange"];
            };
        };
        responses: {
            /** @description The workflow; with `dry_run=true` the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowWarnedResponse"] | components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    testWorkflow: {
        parameters: {
            query?: {
                /** @description Only `false`: this request has no dry run, and `true` is refused with 400 */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "data": {
                 *         "name": "Ada"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["WorkflowTrial"];
            };
        };
        responses: {
            /** @description The result of the run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowTrialResultResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listWorkflowVersions: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createWorkflowVersion: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: {
                /** @description The `ETag` of the state that the change is based on, or `*` */
                "If-Match"?: string;
            };
            path: {
                /**
                 * @description Id of the workflow
                 * @example greeting
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "from_version": 1
                 *     }
                 */
                "application/json": components["schemas"]["VersionRequest"];
            };
        };
        responses: {
            /** @description With `dry_run=true`: the report; nothing was written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            /** @description The draft */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportWorkflows: {
        parameters: {
            query?: {
                /** @description Only channels of this delivery mode; of no effect on workflows */
                channel_type?: "sync" | "async";
                /** @description Of no effect: the response has no pages */
                limit?: string;
                /** @description Of no effect: the response has no pages */
                offset?: string;
                /** @description Only channels of this transport; of no effect on workflows */
                protocol?: "rest" | "http" | "kafka" | "cron";
                /** @description The column that orders the list; the first by default */
                sort_by?: "priority" | "name" | "status" | "created_at" | "updated_at";
                /** @description The direction of the order */
                sort_order?: "asc" | "desc";
                /** @description Only workflows whose latest version has one of these statuses */
                status?: ("draft" | "active" | "archived")[];
                /** @description Only rows with exactly this label */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importWorkflows: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
                /** @description The action for a key that exists; `fail` by default */
                on_conflict?: "fail" | "skip" | "new_version";
            };
            header?: {
                /** @description The signature of the body, which is the file of a package: the line of the file that `package sign` writes. With `packages.trust.required` an import without one, or with a wrong one, is refused with 403 `UNTRUSTED_PACKAGE` */
                "x-svc-package-signature"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example [
                 *       {
                 *         "workflow_id": "imported",
                 *         "name": "Imported",
                 *         "tasks": [
                 *           {
                 *             "id": "log",
                 *             "name": "Log",
                 *             "function": {
                 *               "name": "log",
                 *               "input": {
                 *                 "message": "received"
                 *               }
                 *             }
                 *           }
                 *         ]
                 *       }
                 *     ]
                 */
                "application/json": components["schemas"]["ImportBatch"];
            };
        };
        responses: {
            /** @description The result of each item */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReportResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    validateWorkflow: {
        parameters: {
            query?: {
                /** @description `true` answers 200 with the report of the checks and writes nothing */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Greeting",
                 *       "tasks": [
                 *         {
                 *           "id": "greet",
                 *           "name": "Greet",
                 *           "function": {
                 *             "name": "map",
                 *             "input": {
                 *               "mappings": [
                 *                 {
                 *                   "path": "data.text",
                 *                   "logic": {
                 *                     "cat": [
                 *                       "Hello, ",
                 *                       {
                 *                         "var": "data.name"
                 *                       }
                 *                     ]
                 *                   }
                 *                 }
                 *               ]
                 *             }
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    runChannelByGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the channel; a route of the channel may replace it
                 * @example greetings
                 */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result, or the response that the workflow shaped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"] | components["schemas"]["Value"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    runChannelByPut: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the channel; a route of the channel may replace it
                 * @example greetings
                 */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Ada"
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The result, or the response that the workflow shaped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"] | components["schemas"]["Value"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    runChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the channel; a route of the channel may replace it
                 * @example greetings
                 */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Ada"
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The result, or the response that the workflow shaped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"] | components["schemas"]["Value"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    runChannelByDelete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the channel; a route of the channel may replace it
                 * @example greetings
                 */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result, or the response that the workflow shaped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"] | components["schemas"]["Value"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    runChannelByPatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the channel; a route of the channel may replace it
                 * @example greetings
                 */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Ada"
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The result, or the response that the workflow shaped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"] | components["schemas"]["Value"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    submit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the channel; a route of the channel may replace it
                 * @example greetings
                 */
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Ada"
                 *     }
                 */
                "application/json": components["schemas"]["Value"];
            };
        };
        responses: {
            /** @description The submission is stored */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmissionReceipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getSubmission: {
        parameters: {
            query?: {
                /** @description The token of the submission, if the header `x-trace-token` cannot be sent */
                token?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Name of the channel, or a route of it
                 * @example greetings
                 */
                channel: string;
                /**
                 * @description Id of the submission
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state of the submission */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmissionStateResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listOwnWebhooks: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of endpoints */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnWebhookPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listOwnWebhookAttempts: {
        parameters: {
            query?: {
                /** @description Maximum number of rows; 50 by default, moved into 1 to 1000 */
                limit?: number;
                /** @description Number of rows to skip; 0 by default */
                offset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of attempts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAttemptPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    replayOwnWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-01-01T00:00:00Z",
                 *       "failed_only": true
                 *     }
                 */
                "application/json": components["schemas"]["WebhookReplayRequest"];
            };
        };
        responses: {
            /** @description The number of deliveries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReplayResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    testOwnWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the endpoint
                 * @example 0190a1b2-0000-7000-8000-000000000000
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The outcome */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTestResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getOpenApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Value"];
                };
            };
            400: components["responses"]["BadRequest"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDocumentation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            400: components["responses"]["BadRequest"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getDocumentationFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the file
                 * @example swagger-ui.css
                 */
                file: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/png": unknown;
                    "text/css": string;
                    "text/javascript": string;
                };
            };
            400: components["responses"]["BadRequest"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node serves */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            /** @description The database is away */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"] | components["schemas"]["ErrorEnvelope"];
                };
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Liveness"];
                };
            };
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": unknown;
                    "text/plain": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node is ready */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            /** @description The node is not ready */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"] | components["schemas"]["ErrorEnvelope"];
                };
            };
        };
    };
}
