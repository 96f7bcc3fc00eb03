import type { Dispatcher } from 'undici'
import { network } from '../network.ts'

/** In place of undici's: every request goes to the simulated network. */
export class Agent {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    network.send(options, handler)
    return true
  }

  compose(interceptor: Dispatcher.DispatcherComposeInterceptor) {
    const dispatch = interceptor(this.dispatch.bind(this) as Dispatcher.Dispatch)
    return {
      request: (options: Dispatcher.RequestOptions & { opaque?: unknown }) =>
        network.request(dispatch, options),
    }
  }

  async destroy(): Promise<void> {}
}

/** The connector is not used. */
export const buildConnector = () => () => {}
