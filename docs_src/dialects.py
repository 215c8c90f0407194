from counterfoil import ToolSpec, dialects

book = ToolSpec(
    "book",
    "Book a table.",
    {
        "type": "object",
        "properties": {"guests": {"type": "integer"}, "note": {"type": "string", "maxLength": 80}},
        "required": ["guests"],
        "additionalProperties": False,
    },
)
lowered = dialects.get("openai-strict").lower([book])
print(lowered.tools[0].parameters["required"], lowered.tools[0].strict)
print(lowered.plans["book"].reverse({"guests": 2, "note": None}))  # what came back, as the original schema has it
for loss in lowered.losses:
    print(loss.path, "|", loss.what, "|", loss.carried)
