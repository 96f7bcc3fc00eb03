import { send, type TestResponse } from '../admin/test-console.ts'

/** A browser without scripts: keeps cookies, follows redirects and fills in the forms of the provider. */
export type UserAgent = {
  readonly cookies: Map<string, string>
  readonly get: (url: string) => Promise<TestResponse>
  readonly submit: (url: string, form: Record<string, string>) => Promise<TestResponse>
  /** Follows redirects up to one that `isEnd`; resolves to that address, or to the last page. */
  readonly follow: (
    first: TestResponse,
    base: string,
    isEnd: (location: string) => boolean,
  ) => Promise<{ readonly location: string; readonly page: TestResponse }>
}

export function createUserAgent(): UserAgent {
  const cookies = new Map<string, string>()
  const request = async (url: string, form?: Record<string, string>): Promise<TestResponse> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await send(url, {
      method: form ? 'POST' : 'GET',
      ...(cookie !== '' && { cookie }),
      ...(form && {
        body: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    })
    for (const line of response.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  return {
    cookies,
    get: (url) => request(url),
    submit: request,
    follow: async (first, base, isEnd) => {
      let [page, from] = [first, base]
      for (let step = 0; step < 20 && page.headers.location !== undefined; step++) {
        const location = new URL(page.headers.location, from).href
        if (isEnd(location)) return { location, page }
        page = await request(location)
        from = location
      }
      return { location: from, page }
    },
  }
}

/** Begins at the console and signs in at the provider. Resolves to the address of the console to which it sends the browser. */
export async function signInAtProvider(
  agent: UserAgent,
  startUrl: string,
  login: string,
): Promise<{ readonly callback: string; readonly authorization: URL }> {
  const isCallback = (location: string) => new URL(location).pathname === '/admin/sso/callback'
  const started = await agent.get(startUrl)
  const authorization = new URL(started.headers.location ?? '')
  let { location, page } = await agent.follow(started, startUrl, isCallback)
  while (!isCallback(location)) {
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page.text) ?? []
    const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(page.text) ?? []
    if (action === '') throw new Error(`no form at ${new URL(location).pathname}: ${page.status}`)
    const form = prompt === 'login' ? { prompt, login, password: 'any' } : { prompt }
    const target = new URL(action.replaceAll('&#x2F;', '/'), location).href
    const answer = await agent.submit(target, form)
    ;({ location, page } = await agent.follow(answer, target, isCallback))
  }
  return { callback: location, authorization }
}
