<?php

declare(strict_types=1);

namespace Tabbat\Internal;

use Tabbat\Record;
use Tabbat\TabbatException;

/** A successful response. @internal */
final class Answer
{
    /**
     * @param array<string, string> $headers
     * @param mixed $body What the JSON says.
     * @param iterable<string> $pieces The body of a stream.
     */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        #[\SensitiveParameter] public readonly mixed $body,
        public readonly iterable $pieces = [],
    ) {
    }

    /** The data of a response that says success. @return array<mixed> */
    public function data(): array
    {
        $data = is_array($this->body) && ($this->body['success'] ?? null) === true ? $this->body['data'] ?? null : null;
        return is_array($data) ? $data : throw TabbatException::unexpectedResponse($this->status);
    }

    public function record(): Record
    {
        return new Record($this->data());
    }
}
