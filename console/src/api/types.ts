// Names for the bodies of the API that the console uses.

import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

export type TraceSummary = Schemas["TraceSummary"];
export type TracePage = Schemas["TracePage"];
export type Trace = Schemas["Trace"];
export type TraceAttempt = Schemas["TraceAttempt"];
export type TraceWait = Schemas["TraceWait"];
export type OccurrenceSummary = Schemas["OccurrenceSummary"];
export type OccurrencePage = Schemas["OccurrencePage"];
export type DeadLetterSummary = Schemas["DeadLetterSummary"];
export type DeadLetterPage = Schemas["DeadLetterSummaryPage"];
export type ErrorGroup = Schemas["ErrorGroup"];
export type BulkRun = Schemas["BulkRun"];
export type BulkDryRun = Schemas["BulkDryRun"];
export type BulkRequest = Schemas["BulkRequest"];
export type AuditLogEntry = Schemas["AuditLogEntry"];
export type Health = Schemas["Health"];
export type Node = Schemas["Node"];
export type Channel = Schemas["Channel"];
export type NewChannel = Schemas["NewChannel"];
export type NewWorkflow = Schemas["NewWorkflow"];
export type Workflow = Schemas["Workflow"];
export type WorkflowStats = Schemas["WorkflowStats"];
export type WorkflowTrialResult = Schemas["WorkflowTrialResult"];
export type CronStatus = Schemas["CronStatus"];
export type ScheduleExplanation = Schemas["ScheduleExplanation"];
export type ActorNode = Schemas["ActorNode"];
export type ActorEvent = Schemas["ActorEvent"];
export type Connector = Schemas["Connector"];
export type KafkaPartition = Schemas["KafkaPartition"];
export type DevFinding = Schemas["DevFinding"];
export type DevProject = Schemas["DevProject"];
export type Plugin = Schemas["Plugin"];
export type PackageReceipt = Schemas["Receipt"];

/** One write of a step. */
export interface StepChange {
  path: string;
  old_value: unknown;
  new_value: unknown;
}

/** The message as it was after a step. */
export interface StepMessage {
  data?: unknown;
  metadata?: unknown;
  temp_data?: unknown;
}

/** A step of a run, as the channel records it. */
export interface TraceStep {
  workflow_id: string;
  task_id: string | null;
  result: "executed" | "skipped" | "failed";
  message?: StepMessage;
  started_at?: string;
  duration_us?: number;
  function?: string;
  target?: string;
  changes?: StepChange[];
  loop_counter?: number;
  /** The index of the element, in a fan-out. */
  index?: number;
}

/** The recorded steps of a run. */
export interface ExecutionTrace {
  steps?: TraceStep[];
  input?: { payload?: unknown; request?: Record<string, unknown> };
  truncated?: boolean;
}

/** An error of a task of a run. */
export interface TaskError {
  code?: string;
  message?: string;
  task_id?: string | null;
  tolerated?: boolean;
  status?: number;
  [member: string]: unknown;
}
