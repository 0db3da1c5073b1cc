"""What runs a model: `llama_cpp`, `openai`, `scripted`. `call.py` is what they share; a plan's model names one."""
