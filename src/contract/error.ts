import { ERRORS, type ErrorCode } from '../errors.ts'
import { exactly, text } from './field.ts'
import { type Static, Type } from './schema.ts'

const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => code !== 'unauthenticated')

/** The body of every error but 401. */
export const ErrorBody = Type.Object(
  {
    success: Type.Literal(false),
    code: Type.Unsafe<ErrorCode>({
      type: 'string',
      enum: codes,
      description: 'What happened, for programs.',
    }),
    message: text('What happened, for people.'),
    retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
    request_id: text('The X-Request-Id of this answer.', 'req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62'),
    errors: Type.Optional(
      Type.Record(Type.Array(Type.String()), {
        description: 'Every bad field, and what is wrong with it.',
      }),
    ),
    data: Type.Optional(
      Type.Object(
        {
          request_reference: text(
            'Reference of this verification, also of one that failed. On 409, of the verification in progress.',
          ),
          verification_status: Type.Optional(Type.Enum(['NOT_VERIFIED', 'PENDING', 'EXPIRED'] as const)),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type ErrorBody = Static<typeof ErrorBody>

/** The body of 401, as the contract fixes it. */
export const UnauthenticatedBody = exactly({
  message: text('Says that the caller is unauthenticated.', 'Unauthenticated.'),
})
