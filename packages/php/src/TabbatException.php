<?php

declare(strict_types=1);

namespace Tabbat;

use Exception;
use ReflectionProperty;
use RuntimeException;

/**
 * The only exception that the client throws on its own. It has no previous one, which could quote a header or an address, and its trace has
 * no arguments, whatever zend.exception_ignore_args says.
 *
 * errorCode is one of the API, or one of the client itself:
 * - invalid_argument: an argument that cannot be sent.
 * - network_error: no complete response.
 * - timeout: no complete response within the time of the call.
 * - unexpected_response: not a response of Tabbat, but of a proxy, for example.
 * - invalid_signature: a webhook that must not be trusted.
 */
final class TabbatException extends RuntimeException
{
    /**
     * @param int $status Of the response; 0 if there was none. getCode() is the same.
     * @param bool $retryable Whether the same call may succeed later.
     * @param ?string $requestId Finds the request in the log of the server.
     * @param ?string $reference The request_reference of the verification, if it got so far. On 409, of the one in progress.
     * @param array<string, list<string>> $fields What is wrong with which field.
     * @param ?float $retryAfterS How long the server asks to wait.
     */
    public function __construct(
        public readonly string $errorCode,
        string $message,
        public readonly int $status = 0,
        public readonly bool $retryable = false,
        public readonly ?string $requestId = null,
        public readonly ?string $reference = null,
        public readonly array $fields = [],
        public readonly ?float $retryAfterS = null,
    ) {
        parent::__construct($message, $status);
        $trace = new ReflectionProperty(Exception::class, 'trace');
        $trace->setValue($this, array_map(
            static fn (array $frame): array => array_diff_key($frame, ['args' => true]),
            $this->getTrace(),
        ));
    }

    /** For a log in JSON. @return array<string, mixed> */
    public function toArray(): array
    {
        return [
            'code' => $this->errorCode,
            'message' => $this->getMessage(),
            'status' => $this->status,
            'retryable' => $this->retryable,
            'request_id' => $this->requestId,
            'reference' => $this->reference,
            'fields' => $this->fields,
            'retry_after_s' => $this->retryAfterS,
        ];
    }

    /** @internal */
    public static function invalidArgument(string $message): self
    {
        return new self('invalid_argument', $message);
    }

    /** @internal */
    public static function unexpectedResponse(int $status): self
    {
        $message = "HTTP $status is not a response of Tabbat. Check baseUrl and what is in front of the server.";
        return new self('unexpected_response', $message, $status);
    }

    /** @internal */
    public static function timeout(): self
    {
        return new self('timeout', 'The server did not answer in time.', retryable: true);
    }

    /** Only a name such as COULDNT_CONNECT is taken over: other texts may quote headers or an address. @internal */
    public static function networkError(string $reason = ''): self
    {
        $shown = $reason === '' ? '' : " ($reason)";
        return new self('network_error', "The server could not be reached, or the connection broke$shown.", retryable: true);
    }
}
