// Reads a trace of Chromium: the tasks of the main thread of a page, and what script and layout take of each frame.

/** What runs script of the page, and what makes a layout of it. Events of these names lie in each other. */
const WORK = new Set([
  "EvaluateScript", "v8.compile", "FunctionCall", "TimerFire", "FireAnimationFrame", "EventDispatch", "RunMicrotasks", "V8.GC_SCAVENGER",
  "MinorGC", "MajorGC", "UpdateLayoutTree", "Layout", "PrePaint", "HitTest", "IntersectionObserverController::computeIntersections",
]);
const FRAME = "BeginMainThreadFrame";
/** Microseconds between two refreshes of a screen. */
const REFRESH = 1e6 / 60;
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
 * Returns the milliseconds of each task of the main thread, and those of script and layout for each frame: its own work, and
 * what ran in the refresh before it. What runs while no frame is due makes none late; it is measured by the tasks alone.
 * `own` is the share in which the processor was at it: the rest is that of other programs.
 */
export function readTrace(text) {
  const { traceEvents } = JSON.parse(text);
  const thread = mainThread(traceEvents);
  const whole = thread.filter(({ ph, dur }) => ph === "X" && dur > 0);
  const tasks = outermost(whole.filter(({ name }) => TASKS.has(name)));
  const begins = thread.filter(({ name }) => name === FRAME).map(({ ts }) => ts).sort((a, b) => a - b);
  const frames = begins.map(() => ({ ms: 0, own: 0 }));
  let [frame, until] = [0, begins[0] + REFRESH];
  // What script does before a frame makes it late, what the frame does itself too: its work ends where the next one begins.
  const add = (place, { dur, tdur }) => {
    frames[place].ms += dur / 1000;
    frames[place].own += tdur / 1000;
  };
  for (const work of outermost(whole.filter(({ name }) => WORK.has(name)))) {
    const { ts, dur } = work;
    if (ts < begins[0]) continue;
    while (ts >= begins[frame + 1]) until = begins[++frame] + REFRESH;
    if (ts < until) {
      add(frame, work);
      until = Math.max(until, ts + dur);
    } else if (ts >= begins[frame + 1] - REFRESH) add(frame + 1, work);
  }
  return { tasks: tasks.map(({ dur, tdur }) => ({ ms: dur / 1000, own: tdur / 1000 })), frames };
}
