/**
 * How soon a revoked key is refused, and a changed one is as it was changed: everywhere the same words. Each process trusts the row of
 * a key for half a second and then reads it again, so it does not matter on which server the key was revoked.
 */
export const REVOKED_WITHIN = 'within a second, on every server'
