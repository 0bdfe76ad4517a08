// The share of the traffic with which a new version begins.

import { signal } from "@preact/signals";
import { texts } from "../texts.ts";

const t = texts.definitions;

/** Shares to begin with. */
const SHARES = [1, 5, 10, 25, 50, 100] as const;

/** Returns the fields of an activation, and its body. A first version has all the traffic. */
export function rolloutFields(hasActive: boolean, hasCanary: boolean) {
  const share = signal(100);
  const Fields = () => (
    <div class="field">
      <span class="label" id="rollout-share">
        {t.share}
      </span>
      <div class="row wraps">
        <div class="segments" role="group" aria-labelledby="rollout-share">
          {SHARES.map((choice) => (
            <button type="button" key={choice} aria-pressed={share.value === choice} onClick={() => (share.value = choice)}>
              {choice} %
            </button>
          ))}
        </div>
        <label class="row">
          <input
            class="input number rollout-number"
            type="number"
            min={1}
            max={100}
            aria-label={t.share}
            value={share.value}
            onInput={(event) => (share.value = Math.max(1, Math.min(100, Math.round(Number(event.currentTarget.value) || 1))))}
          />
          %
        </label>
      </div>
      {hasCanary && share.value < 100 && <p class="muted">{t.replacesCanary}</p>}
    </div>
  );
  const bodyOf = () => ({
    status: "active" as const,
    ...(share.value === 100 ? {} : { rollout_percentage: share.value, ...(hasCanary ? { replace_canary: true } : {}) }),
  });
  return { fields: hasActive ? <Fields /> : null, bodyOf };
}
