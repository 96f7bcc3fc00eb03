/** A panel of the dashboard for Grafana. */
export type Panel = {
  readonly title: string
  readonly type: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string } }
  readonly targets?: readonly { readonly expr: string }[]
}

export type Series = {
  readonly metric: Readonly<Record<string, string>>
  /** Unix time in seconds, and the value as text. */
  readonly values: readonly (readonly [number, string])[]
}

export type Answer = { readonly panel: Panel; readonly expr: string; readonly series: readonly Series[] }

/** What Grafana would put in for its variables. */
export const toExpression = (expr: string) =>
  expr.replaceAll('$__rate_interval', '15s').replaceAll('$instance', '.*')

/** The values of the last seconds. Series without a number (such as 0 / 0) are left out. */
export async function askPrometheus(url: string, query: string, seconds: number): Promise<Series[]> {
  const end = Date.now() / 1000
  const search = new URLSearchParams({ query, start: String(end - seconds), end: String(end), step: '1' })
  const body = (await (await fetch(`${url}/api/v1/query_range?${search}`)).json()) as {
    status: string
    error?: string
    data: { result: Series[] }
  }
  if (body.status !== 'success') throw new Error(`${query}: ${body.error}`)
  return body.data.result.filter(({ values }) => values.some(([, value]) => Number.isFinite(Number(value))))
}
