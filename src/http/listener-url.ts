import type { HttpSettings } from './settings.ts'

/** The address of a listener for a client on this machine. */
export function toListenerUrl(
  { tlsCert }: Pick<HttpSettings, 'tlsCert'>,
  listener: { readonly host: string; readonly port: number },
): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[listener.host] ?? listener.host
  const scheme = tlsCert === undefined ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
}
