const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/

/** One address for each host of postgres://user:password@host1:5432,host2:5432/database. Undefined if one is invalid. */
export function parseDatabaseUrl(text: string): readonly URL[] | undefined {
  const [, before = '', hosts = '', after = ''] = PARTS.exec(text) ?? []
  if (before === '') return undefined
  const urls = hosts.split(',').map((host) => `${before}${host}${after}`)
  return urls.every((url) => URL.canParse(url)) ? urls.map((url) => new URL(url)) : undefined
}

/** The same of an address that was read from the settings. */
export function toDatabaseUrls(text: string): readonly [URL, ...URL[]] {
  const [first, ...others] = parseDatabaseUrl(text) ?? [new URL(text)]
  return [first as URL, ...others]
}

/** What may be shown: host and port of every server, and the database. */
export function toDatabasePlace(text: string): string {
  const urls = toDatabaseUrls(text)
  return `${urls.map(({ host }) => host).join(',')}${urls[0].pathname}`
}
