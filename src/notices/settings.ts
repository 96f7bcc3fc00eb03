import {
  InvalidSetting,
  isLoopback,
  oneOf,
  origin,
  orOff,
  type Setting,
  setting,
  type ValuesOf,
} from '../settings/setting.ts'
import type { QuietHours } from './incident-rules.ts'

/** Where e-mail is handed in. */
export type SmtpServer = {
  readonly host: string
  readonly port: number
  /** `implicit`: from the first byte. `starttls`: before anything else is said. `off`: the connection is not encrypted. */
  readonly tls: 'implicit' | 'starttls' | 'off'
  readonly user: string | undefined
  readonly password: string | undefined
}

const SMTP_PORTS = { implicit: 465, starttls: 587, off: 25 } as const
const SMTP_RULE =
  'must be a URL such as smtps://user:password@mail.example.com or smtp://mail.example.com:587'

/** The text is not repeated: it may have a password. */
const smtpServer = (text: string): SmtpServer => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || /[^/]/.test(url.pathname) || url.hash)
    throw new InvalidSetting(SMTP_RULE)
  const wanted = [...url.searchParams].map(([name, value]) => `${name}=${value}`).join('&')
  if (wanted !== '' && wanted !== 'tls=off')
    throw new InvalidSetting(`${SMTP_RULE}, with ?tls=off and no other option`)
  const tls = url.protocol === 'smtps:' ? 'implicit' : wanted === '' ? 'starttls' : 'off'
  if (tls === 'implicit' && wanted !== '') throw new InvalidSetting('must be smtp:// with ?tls=off')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const [user, password] = [url.username, url.password].map(decode)
  if ((user === undefined) !== (password === undefined))
    throw new InvalidSetting('must have a user and a password, or neither')
  if (tls === 'off' && user !== undefined && !isLoopback(host))
    throw new InvalidSetting('must not have a password together with ?tls=off: others could read it')
  return { host, port: url.port === '' ? SMTP_PORTS[tls] : Number(url.port), tls, user, password }
}

function decode(part: string): string | undefined {
  if (part === '') return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    throw new InvalidSetting('must have user and password in the encoding of URLs, for example %40 for @')
  }
}

/** The path is the secret of these addresses. */
const hookUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash)
    throw new InvalidSetting('must be the https address that the channel has given you')
  return url.href
}

const ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/
const MAX_RECIPIENTS = 20

const mailAddress = (text: string): string => {
  if (ADDRESS.test(text)) return text
  throw new InvalidSetting('must be an e-mail address such as tabbat@example.com')
}

const mailAddresses = (text: string): readonly string[] => {
  const list = text.split(',').map((part) => part.trim())
  if (list.every((part) => ADDRESS.test(part)) && list.length <= MAX_RECIPIENTS) return list
  throw new InvalidSetting(`must be 1 to ${MAX_RECIPIENTS} e-mail addresses separated by commas`)
}

const HOURS = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/

/** Minutes after midnight. */
const quietHours = (text: string): Pick<QuietHours, 'from' | 'to'> => {
  const [, fromHour, fromMinute, toHour, toMinute] = HOURS.exec(text) ?? []
  const [from, to] = [Number(fromHour) * 60 + Number(fromMinute), Number(toHour) * 60 + Number(toMinute)]
  if (from >= 0 && to >= 0 && from !== to) return { from, to }
  throw new InvalidSetting('must be two different times such as 22:00-06:00, or off')
}

const DEFAULT_ZONE = 'Africa/Lagos'

const timeZone = (text: string): string => {
  // The first use of Intl takes 20 ms, and every command reads the settings.
  if (text === DEFAULT_ZONE) return text
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw new InvalidSetting('must be a time zone such as Africa/Lagos')
  }
}

/** Messages to people about incidents. */
export const NOTICE_SETTINGS = {
  noticesSmtp: setting(
    'TABBAT_NOTICES_SMTP',
    undefined,
    smtpServer,
    'Mail server for notices: smtps://user:password@mail.example.com (TLS), or smtp://user:password@mail.example.com:587 (STARTTLS, required). A relay without TLS and password: smtp://relay:25?tls=off. Needs TABBAT_NOTICES_FROM and TABBAT_NOTICES_TO. See docs/notices.md.',
    true,
  ),
  noticesFrom: setting(
    'TABBAT_NOTICES_FROM',
    undefined,
    mailAddress,
    'E-mail address that notices come from.',
  ),
  noticesTo: setting(
    'TABBAT_NOTICES_TO',
    undefined,
    mailAddresses,
    'E-mail addresses that get notices, separated by commas.',
  ),
  noticesSlack: setting(
    'TABBAT_NOTICES_SLACK',
    undefined,
    hookUrl,
    'Address of a Slack incoming webhook, or of a program that takes the same, such as Mattermost. It is secret.',
    true,
  ),
  noticesTeams: setting(
    'TABBAT_NOTICES_TEAMS',
    undefined,
    hookUrl,
    'Address of a Microsoft Teams workflow that posts the adaptive card that it gets. It is secret.',
    true,
  ),
  noticesPrivate: setting(
    'TABBAT_NOTICES_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'Whether the names in TABBAT_NOTICES_SLACK and TABBAT_NOTICES_TEAMS may have private addresses, and may be plain http. A mail server may always have one.',
  ),
  noticesQuiet: setting(
    'TABBAT_NOTICES_QUIET',
    'off',
    orOff(quietHours),
    'Quiet hours, for example 22:00-06:00: notices of warnings wait until they end, and are then one message. Critical notices are sent at any time. off: there are none.',
  ),
  noticesZone: setting(
    'TABBAT_NOTICES_ZONE',
    DEFAULT_ZONE,
    timeZone,
    'Time zone of the quiet hours, and of the times in notices.',
  ),
  noticesConsole: setting(
    'TABBAT_NOTICES_CONSOLE',
    undefined,
    origin,
    'URL at which people open the console, for example https://console.example.com. Notices then have a link to it.',
  ),
} satisfies Record<string, Setting<unknown>>

export type NoticeConfig = ValuesOf<typeof NOTICE_SETTINGS>

export const CHANNELS = ['email', 'slack', 'teams'] as const
export type ChannelName = (typeof CHANNELS)[number]

/** The channels that are configured. */
export const listChannels = ({ noticesSmtp, noticesSlack, noticesTeams }: NoticeConfig): ChannelName[] =>
  CHANNELS.filter((name) => ({ email: noticesSmtp, slack: noticesSlack, teams: noticesTeams })[name])

/** Of settings that are valid one by one. */
export function listNoticeProblems(config: NoticeConfig): string[] {
  const { noticesSmtp, noticesFrom, noticesTo, noticesPrivate } = config
  const problems: string[] = []
  const mail = {
    TABBAT_NOTICES_SMTP: noticesSmtp,
    TABBAT_NOTICES_FROM: noticesFrom,
    TABBAT_NOTICES_TO: noticesTo,
  }
  const given = Object.values(mail).filter((value) => value !== undefined).length
  if (given !== 0 && given !== Object.keys(mail).length)
    problems.push(`${Object.keys(mail).join(', ')} go together: set all or none`)
  for (const [name, url] of [
    ['TABBAT_NOTICES_SLACK', config.noticesSlack],
    ['TABBAT_NOTICES_TEAMS', config.noticesTeams],
  ] as const)
    if (url?.startsWith('http:') && noticesPrivate === 'off' && !isLoopback(new URL(url).hostname))
      problems.push(
        `${name} must begin with https://. For a program in your own network, set TABBAT_NOTICES_PRIVATE=on`,
      )
  return problems
}

export const toQuietHours = ({ noticesQuiet, noticesZone }: NoticeConfig): QuietHours | undefined =>
  noticesQuiet === 'off' ? undefined : { ...noticesQuiet, zone: noticesZone }

/** As it is written in the setting; null: there are none. */
export function toQuietText({ noticesQuiet }: NoticeConfig): string | null {
  if (noticesQuiet === 'off') return null
  const [from, to] = [noticesQuiet.from, noticesQuiet.to].map(
    (minute) => `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`,
  )
  return `${from}-${to}`
}
