<?php

declare(strict_types=1);

namespace Tabbat\Http;

use Tabbat\Hidden;

final class Request
{
    private readonly Hidden $headers;
    private readonly Hidden $body;

    /** @param array<string, string> $headers */
    public function __construct(
        public readonly string $method,
        public readonly string $url,
        #[\SensitiveParameter] array $headers,
        #[\SensitiveParameter] ?string $body,
        /** Whether the body of the response is read as it arrives, without a limit for the whole. */
        public readonly bool $isStream = false,
        /** For a stream: the longest wait for more of it. Null: the time of the request. */
        public readonly ?float $waitS = null,
    ) {
        $this->headers = new Hidden($headers);
        $this->body = new Hidden($body);
    }

    /** @return array<string, string> */
    public function headers(): array
    {
        return $this->headers->get();
    }

    public function body(): ?string
    {
        return $this->body->get();
    }
}
