// Reads a trace of Chromium: the tasks of the main thread of a page, and what script and layout take of each frame.

/** What runs script of the page, and what makes a layout of it. Events of these names lie in each other. */
const WORK = new Set([
  "EvaluateScript", "v8.compile", "FunctionCall", "TimerFire", "FireAnimationFrame", "EventDispatch", "RunMicrotasks", "V8.GC_SCAVENGER",
  "MinorGC", "MajorGC", "UpdateLayoutTree", "Layout", "PrePaint", "HitTest", "IntersectionObserverController::computeIntersections",
]);
const FRAME = "BeginMainThreadFrame";
const TASKS = new Set(["RunTask", "ThreadControllerImpl::RunTask"]);

/** Returns the events of the main thread that laid out most: that of the page. */
function mainThread(events) {
  const names = events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const threads = names.map(({ pid, tid }) => events.filter((event) => event.pid === pid && event.tid === tid && event.ph !== "M"));
  const layouts = (thread) => thread.filter(({ name }) => name === "UpdateLayoutTree").length;
  return threads.sort((a, b) => layouts(b) - layouts(a))[0] ?? [];
}

/** Returns the outermost of events that lie in each other. */
function outermost(events) {
  let end = -Infinity;
  const found = [];
  for (const event of events.toSorted((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    if (event.ts < end) continue;
    end = event.ts + event.dur;
    found.push(event);
  }
  return found;
}

/**
 * Returns the milliseconds of each task of the main thread, and those of script and layout since the frame before for each
 * frame.
 */
export function readTrace(text) {
  const { traceEvents } = JSON.parse(text);
  const thread = mainThread(traceEvents);
  const whole = thread.filter(({ ph, dur }) => ph === "X" && dur > 0);
  const tasks = outermost(whole.filter(({ name }) => TASKS.has(name)));
  const begins = thread.filter(({ name }) => name === FRAME).map(({ ts }) => ts).sort((a, b) => a - b);
  const frames = new Array(Math.max(0, begins.length - 1)).fill(0);
  let frame = 0;
  // What script does before a frame makes it late, what the frame does itself too: its work ends where the next one begins.
  for (const { ts, dur } of outermost(whole.filter(({ name }) => WORK.has(name)))) {
    while (frame < frames.length && ts >= begins[frame + 1]) frame++;
    if (frame < frames.length && ts >= begins[0]) frames[frame] += dur / 1000;
  }
  return { tasks: tasks.map(({ dur, ts }) => ({ ms: dur / 1000, at: ts })), frames };
}
