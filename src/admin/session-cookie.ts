/** Under TLS the name itself makes browsers refuse a cookie that is not Secure, or that another host has set. */
const PLAIN = 'tabbat_console'
const SECURE = `__Host-${PLAIN}`

export function readSessionCookie(header: string | undefined): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2)
    if ((name === SECURE || name === PLAIN) && value !== '') return value
  }
  return undefined
}

/** Set-Cookie for a session; without a token it takes the cookie away. It lives as long as the browser, at most. */
export function toSessionCookie(token: string | undefined, isSecure: boolean): string {
  const name = isSecure ? SECURE : PLAIN
  const life = token === undefined ? '; Max-Age=0' : ''
  return `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${life}`
}
