/** How a session was opened. */
export const SIGN_IN_METHODS = ['password', 'code', 'recovery_code', 'passkey', 'sso'] as const

export type SignInMethod = (typeof SIGN_IN_METHODS)[number]
