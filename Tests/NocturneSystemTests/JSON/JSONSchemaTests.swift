import NocturneCore
import NocturneSystem
import Testing

@Suite("JSON and its schemas")
struct JSONSchemaTests {
    private func value(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    @Test("Values of every kind are read")
    func values() throws {
        let text = #" {"a": [1, -2.5e1, 0], "b": {"c": null, "d": true, "e": false}, "f": "\u00e9\n\ud83d\ude00\/"} "#
        #expect(
            try value(text)
                == .object([
                    "a": .array([.number(1), .number(-25), .number(0)]),
                    "b": .object(["c": .null, "d": .boolean(true), "e": .boolean(false)]), "f": .string("é\n😀/"),
                ])
        )
        #expect(try value("[]") == .array([]) && value("{}") == .object([:]) && value("\"\"") == .string(""))
    }

    @Test(
        "What is not valid JSON is refused",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "01", "+1", "1.", ".5", "1e", "1e999", "nul",
            "tru", "'a'",
            "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"a\nb\"", "1 2", "{\"a\":1,\"a\":2}",
            "[1] x", "NaN", "\u{FEFF}1", "\"\\u+123\"",
        ]
    )
    func refused(text: String) {
        #expect(throws: JSONValue.SyntaxError.self) { try value(text) }
    }

    @Test("Bytes that are no UTF-8, every prefix of a document, and endless nesting are refused")
    func hostile() throws {
        #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(parsing: [0x22, 0xE4, 0x22]) }
        let whole = Array(#"{"a": [1, "\u00e9x", {"b": null}]}"#.utf8)
        for count in 0..<whole.count {
            #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(parsing: Array(whole[..<count])) }
        }
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(parsing: deep) }
    }

    @Test(
        "Each rule lets the right through and tells the wrong",
        arguments: [
            (#"{"type": "integer"}"#, "3", "3.5", "is not integer"),
            (#"{"type": "number"}"#, "3.5", "true", "is not number"),
            (#"{"type": "boolean"}"#, "true", "1", "is not boolean"),
            (#"{"type": "null"}"#, "null", "0", "is not null"),
            (#"{"type": ["string", "null"]}"#, "null", "1", "is not string or null"),
            (#"{"const": 1}"#, "1", "2", "is not 1.0"),
            (#"{"enum": ["a", null]}"#, "null", "\"b\"", "is not \"a\" or null"),
            (#"{"minimum": 0}"#, "0", "-0.5", "is below 0.0"), (#"{"maximum": 1}"#, "1", "1.5", "is above 1.0"),
            (#"{"minLength": 2}"#, "\"ab\"", "\"a\"", "is shorter than 2"),
            (#"{"pattern": "^[0-9a-f]{4}$"}"#, "\"00ff\"", "\"00FF\"", "does not fit"),
            (#"{"minItems": 1, "maxItems": 2}"#, "[1]", "[]", "has 0 elements"),
            (#"{"minItems": 1, "maxItems": 2}"#, "[1, 2]", "[1, 2, 3]", "has 3 elements"),
            (#"{"items": {"type": "null"}}"#, "[null]", "[null, 1]", "$[1]: is not null"),
            (#"{"required": ["a"]}"#, #"{"a": 1}"#, #"{"b": 1}"#, "has no a"),
            (#"{"properties": {"a": {"type": "null"}}}"#, #"{"b": 1}"#, #"{"a": 1}"#, "$.a: is not null"),
            (
                #"{"properties": {"a": {}}, "additionalProperties": false}"#, #"{"a": 1}"#, #"{"b": 1}"#,
                "b is not expected"
            ),
            (#"{"additionalProperties": {"type": "string"}}"#, #"{"a": ""}"#, #"{"a": 1}"#, "$.a: is not string"),
            (##"{"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}"##, "null", "1", "is not null"),
        ]
    )
    func rules(schema: String, right: String, wrong: String, words: String) throws {
        let schema = try JSONSchema(Array(schema.utf8))
        #expect(try schema.faults(in: Array(right.utf8)) == [])
        let faults = try schema.faults(in: Array(wrong.utf8))
        #expect(faults.count == 1 && faults[0].contains(words), "\(faults)")
    }

    @Test(
        "A schema with a rule that is not known is refused",
        arguments: [
            #"{"oneOf": []}"#, #"{"properties": {"a": {"format": "date"}}}"#, #"{"type": "text"}"#,
            #"{"minItems": "1"}"#,
            #"{"$ref": "other.json"}"#, ##"{"$ref": "#/$defs/none"}"##, "[]", #"{"items": [{}]}"#, #"{"pattern": "("}"#,
            ##"{"items": {"$defs": {}}}"##, #"{"additionalProperties": 1}"#,
        ]
    )
    func unknown(schema: String) {
        #expect(throws: (any Error).self) { try JSONSchema(Array(schema.utf8)) }
    }
}
