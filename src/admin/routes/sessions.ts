import { endSession, endSessions, listOpenSessions } from '../../accounts/session-list.ts'
import { toSessionId } from '../../accounts/sessions.ts'
import { toAccountDeps } from '../account-deps.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Ok } from '../shapes/fields.ts'
import { EndedSessions, OpenSessions } from '../shapes/session.ts'

const done = { ok: true } as const

const listOwn = defineRoute({
  name: 'list_own_sessions',
  tag: 'Session',
  method: 'GET',
  path: '/admin/session/all',
  summary: 'Your open sessions.',
  role: 'viewer',
  output: OpenSessions,
  run: async ({ context }, { actor }) => ({
    sessions: await listOpenSessions(context.store, actor.name, toSessionId(actor)),
  }),
})

const endOwn = defineRoute({
  name: 'end_own_session',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/all/:id/end',
  summary: 'End one of your sessions.',
  role: 'viewer',
  output: Ok,
  run: async (deps, { params, actor }) => {
    await endSession(toAccountDeps(deps, actor), actor.name, params.id ?? '')
    return done
  },
})

const endOthers = defineRoute({
  name: 'end_other_sessions',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/end-others',
  summary: 'End your other sessions.',
  role: 'viewer',
  output: EndedSessions,
  run: async (deps, { actor }) => ({
    ended: await endSessions(toAccountDeps(deps, actor), actor.name, toSessionId(actor)),
  }),
})

const list = defineRoute({
  name: 'list_sessions',
  tag: 'Accounts',
  method: 'GET',
  path: '/admin/accounts/:name/sessions',
  summary: 'The open sessions of an account.',
  role: 'owner',
  output: OpenSessions,
  run: async ({ context }, { params, actor }) => ({
    sessions: await listOpenSessions(context.store, params.name ?? '', toSessionId(actor)),
  }),
})

const endAll = defineRoute({
  name: 'end_sessions',
  tag: 'Accounts',
  method: 'POST',
  path: '/admin/accounts/:name/end-sessions',
  summary: 'End all sessions of an account.',
  role: 'owner',
  isSensitive: true,
  output: EndedSessions,
  run: async (deps, { params, actor }) => ({
    ended: await endSessions(toAccountDeps(deps, actor), params.name ?? ''),
  }),
})

export const OPEN_SESSION_ROUTES: readonly AdminRoute[] = [listOwn, endOwn, endOthers, list, endAll]
