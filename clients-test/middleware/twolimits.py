"""Programs of the examples in the READMEs of the libraries, with a second limit that has a name, or none."""

import pathlib
import re
import textwrap

GO = """package main

import (
	"log"
	"net/http"
	"os"
	"time"

	limitsrv "limitsrv-go"
)

func main() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("{}")) })
%(example)s
	login, err := limiter.Middleware(limitsrv.Config{%(name)sPerAddress: limitsrv.Limit{Requests: 2, Per: time.Minute}})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/login", login(handler))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
"""

NODE = """%(example)s
app.use('/login', limiter.express({ %(name)sperAddress: { requests: 2, per: 60 } }))
app.get(['/api/', '/login'], (req, res) => res.json({}))
app.listen(Number(process.env.PORT), '127.0.0.1')
"""

PYTHON = """%(example)s
login = limited(Limits(limiter, %(name)sper_address=Limit(2, per=60)))


@app.get("/login", dependencies=[Depends(login)])
async def log_in():
    return {}


import os
import uvicorn
uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
"""

JAVA = """import io.lettuce.core.RedisURI;
import java.time.Duration;
import limitsrv.*;

class Example {
    public static void main(String[] args) throws Exception {
%(example)s
        RateLimitFilter login = RateLimitFilter.of(limiter, %(name)sLimit.of(2, Duration.ofMinutes(1)));
        var tomcat = App.tomcat();
        var context = tomcat.addContext("", null);
        App.serve(context, "/", api, 200, "{}");
        App.serve(context, "/login", login, 200, "{}");
        tomcat.start();
        tomcat.getServer().await();
    }
}
"""

# By framework: the library and the language of its README's example, the program around the
# example, a name in it, the path of the program, and the command that runs it.
EXAMPLES = {
    "net-http": ("go", "go", GO, 'Name: "%s", ', ".build/example.go", []),
    "express": ("node", "js", NODE, "name: '%s', ", "express/.example.mjs", ["node"]),
    "fastapi": ("python", "python", PYTHON, '"%s", ', ".build/example.py", [pathlib.Path(".build/python/bin/python").absolute()]),
    "servlet": ("java", "java", JAVA, '"%s", ', ".build/Example.java", ["java", "@.build/arguments"]),
}

# The paths of a request that the example limits.
PATHS = {"net-http": "/api/", "express": "/api/", "fastapi": "/", "servlet": "/"}

# By framework: names that are wrong for the second limit, the name of the first and none, and
# what the program says at its start, or the compiler.
TWICE, NONE = "two limits have the name", "a limit needs a name"
WRONG_NAMES = {
    "net-http": {"api": TWICE, None: NONE},
    "express": {"api": TWICE, None: NONE},
    "fastapi": {"api": TWICE, None: "missing 1 required positional argument: 'name'"},
    "servlet": {"api": TWICE, None: "required: Limiter,String,Limit"},
}


def write(framework, name, server):
    """Writes the program with that name of the second limit, None for no name; returns its command and its path."""
    library, language, around, named, file, command = EXAMPLES[framework]
    text = pathlib.Path("../../clients", library, "README.md").read_text()
    example = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    if example.count("6380") != 1:
        raise ValueError(f"the README of {library} has not one port 6380 in its example")
    if language == "go":
        example = textwrap.indent(example, "\t").rstrip()
    program = pathlib.Path(file).absolute()
    values = {"example": example.replace("6380", server.rpartition(":")[2]), "name": "" if name is None else named % name}
    program.write_text(around % values)
    return command, program
