import { TextField } from './field.tsx'

type FieldProps = {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly error: string | undefined
}

type NameProps = FieldProps & { readonly label: string; readonly example: string; readonly help?: string }

/** The name of a key, a token or an endpoint. */
export const NameField = ({ example, ...rest }: NameProps) => (
  <TextField {...rest} placeholder={example} maxLength={80} required />
)

/** The addresses from which a key or a token is accepted. */
export const AddressesField = (props: FieldProps) => (
  <TextField
    {...props}
    label="Allowed IP addresses"
    placeholder="203.0.113.7, 10.0.0.0/8"
    help="Separated by spaces or commas. Empty: any address."
  />
)

/** The entries of a field with several, separated by spaces or commas. */
export const toList = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== '')
