<?php

/** Runs Tabbat.php outside Laravel, with illuminate/http and Guzzle. COMPOSER_AUTOLOAD names the autoload.php of Composer. */

declare(strict_types=1);

use App\Services\Tabbat;
use Illuminate\Container\Container;
use Illuminate\Support\Facades\Facade;

// A stack trace would contain the arguments.
ini_set('zend.exception_ignore_args', '1');
foreach (explode(':', getenv('COMPOSER_AUTOLOAD') ?: 'vendor/autoload.php') as $file) {
    require_once $file;
}
require_once __DIR__ . '/Tabbat.php';
// Laravel does this at the start of every application.
Facade::setFacadeApplication(new Container());

$tabbat = new Tabbat(getenv('TABBAT_URL') ?: 'http://127.0.0.1:8080', (string) getenv('TABBAT_KEY'));
echo $tabbat->verifyNin('12345678901', '08031234567'), "\n";
echo $tabbat->verifyNin('00000000422', '08031234567'), "\n";
echo $tabbat->verifyNin('12345678901', '123'), "\n";
$bundles = $tabbat->listBundles('smile');
echo 'bundles: ', count($bundles), ", the first is {$bundles[0]['code']} for {$bundles[0]['price']} naira\n";
