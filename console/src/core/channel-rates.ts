// Rates of channels over the last seconds of the live stream: the figures of a single second jump too much to be read.

import { computed, signal } from "@preact/signals";
import type { LiveChannel } from "../api/live-types.ts";
import { onLive } from "./live.ts";
import { latest, showLater } from "./live-store.ts";

/** Seconds over which a rate is taken. */
const SECONDS = 10;

/** The figures of a channel a second. */
export interface ChannelRate {
  requests: number;
  errors: number;
  refused: number;
  /** The slowest p99 of the seconds. */
  p99_ms: number | null;
}

/** Returns the mean of seconds of channels. */
export function meanRates(seconds: readonly (readonly LiveChannel[])[]): Map<string, ChannelRate> {
  const rates = new Map<string, ChannelRate>();
  const share = 1 / Math.max(1, seconds.length);
  for (const channel of seconds.flat()) {
    const known = rates.get(channel.channel) ?? { requests: 0, errors: 0, refused: 0, p99_ms: null };
    rates.set(channel.channel, {
      requests: known.requests + channel.requests * share,
      errors: known.errors + channel.errors * share,
      refused: known.refused + channel.refused * share,
      p99_ms: channel.p99_ms === null ? known.p99_ms : Math.max(known.p99_ms ?? 0, channel.p99_ms),
    });
  }
  return rates;
}

const seconds = signal<readonly (readonly LiveChannel[])[]>([]);

/** The rates of the channels of the node of the stream by their names. */
export const channelRates = computed<ReadonlyMap<string, ChannelRate>>(() => meanRates(seconds.value));

let isStarted = false;

/** Follows the stream from the first view on that needs rates. */
export function followRates(): void {
  if (isStarted) return;
  isStarted = true;
  onLive("picture", ({ channels }) => void (seconds.value = [channels]));
  onLive("changes", ({ channels }) => showLater(seconds, [...latest(seconds), channels].slice(-SECONDS)));
}
