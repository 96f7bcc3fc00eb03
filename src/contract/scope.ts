/** test: the sandbox answers. live: the configured sources answer. */
export const MODES = ['test', 'live'] as const
export type Mode = (typeof MODES)[number]

/** What a key may be allowed to do. */
export const SCOPES = ['kyc:nin', 'kyc:bvn', 'catalogue:read'] as const
export type Scope = (typeof SCOPES)[number]

/** A scope that is needed, or several of which one is. */
export type NeededScope = Scope | readonly Scope[]
