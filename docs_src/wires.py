from counterfoil import wires

chat, anthropic = wires.get("openai-chat"), wires.get("anthropic")
call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
body = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "please"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ],
}
request = chat.read_request(body)  # as a server reads it
written = anthropic.write_request(request)  # as a client says it
print(written.body["messages"][1:])
for loss in written.losses:
    print(loss.path, "|", loss.what, "|", loss.carried)
print(chat.write_request(request).body == body)  # the same wire: the identity
