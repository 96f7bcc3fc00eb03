/**
 * Wall time that is never behind the wall time at which this process started plus the time it has run. A clock that is set
 * back while the process runs does not make anything younger: use it to compare with stored expiry times.
 */
export const steadyNow = (): number =>
  Math.max(Date.now(), Math.floor(performance.timeOrigin + performance.now()))
