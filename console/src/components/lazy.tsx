import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api-client.ts'
import { LoadError, Loading } from './query-result.tsx'

/** A component whose code is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return function Lazy(props: Props) {
    const [Body, setBody] = useState<ComponentType<Props>>()
    const [error, setError] = useState<ApiError>()
    const [attempt, setAttempt] = useState(0)
    useEffect(() => {
      setError(undefined)
      load().then(
        (found) => setBody(() => found),
        () => setError(new ApiError(0, 'not_loaded', 'A part of this page could not be loaded.')),
      )
    }, [attempt])
    if (Body) return <Body {...props} />
    return error ? <LoadError error={error} onRetry={() => setAttempt(attempt + 1)} /> : <Loading lines={2} />
  }
}
