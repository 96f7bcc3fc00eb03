/**
 * Loaded into the servers of a soak by --import: what runs once an hour runs after SOAK_HOUR_MS, so that the cleanup works in
 * a run of two hours as it does in days.
 */
const HOUR_MS = 3_600_000
const shortMs = Number(process.env.SOAK_HOUR_MS)
const original = globalThis.setInterval
globalThis.setInterval = ((work: () => void, ms?: number, ...args: []) =>
  original(work, ms === HOUR_MS && shortMs > 0 ? shortMs : ms, ...args)) as typeof globalThis.setInterval
