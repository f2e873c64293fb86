import os
import socketserver
import sys
import wsgiref.simple_server

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path

from limitsrv import Limit, Limiter, Limits, Rules
from limitsrv.django import limited

host, port = os.environ["LIMITSRV_ADDR"].split(":")
limiter = Limiter(
    host, int(port), timeout=int(os.environ["TIMEOUT"]) / 1000, fail=os.environ["FAIL"], remember=int(os.environ["REMEMBER"]) / 1000)


def hourly(requests):
    return Limit(requests, per=3600)


second = limited(Limits(limiter, "second", per_address=hourly(100_000), per_key=hourly(3)))


def only_second(get_response):
    """The middleware of a project limits all requests; here those of one path, and the views have their own limits."""
    limiting = second(get_response)
    return lambda request: (limiting if request.path == "/second" else get_response)(request)


@limited(Limits(limiter, "home", per_address=hourly(100_000), per_key=hourly(3)))
def hello(request):
    return JsonResponse({"hello": "world"})


def hello_again(request):
    return JsonResponse({"hello": "world"})


@limited(Limits(limiter, "strict", per_address=hourly(3), per_key=hourly(2)))
async def hello_strictly(request):
    return JsonResponse({"hello": "world"})


@limited(Rules(limiter, "middleware"))
def ruled(request):
    return JsonResponse({"hello": "rules"})


@limited(Limits(limiter, "own", per_address=hourly(100_000)))
def response_of_its_own(request):
    return HttpResponse(b'{"own": true}', status=201, content_type="application/json")


urlpatterns = [path("", hello), path("second", hello_again), path("strict", hello_strictly), path("ruled", ruled), path("own", response_of_its_own)]


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


sys.modules["app"] = sys.modules[__name__]
settings.configure(ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF="app", MIDDLEWARE=["app.only_second"], SECRET_KEY="of a test")
wsgiref.simple_server.make_server("127.0.0.1", int(os.environ["PORT"]), get_wsgi_application(), Server, Quiet).serve_forever()
