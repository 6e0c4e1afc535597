public import Foundation

/// The part of JSON Schema (draft 2020-12) that Nocturne's own schemas use.
///
/// Knows `$ref` to `#/$defs`, `type`, `const`, `enum`, `required`, `properties`, `additionalProperties`, `items`,
/// `minItems`, `maxItems`, `minimum`, `maximum`, `pattern`, `minLength`; another keyword is a fault of the schema.
public struct JSONSchema {
    private let root: [String: Any]
    private static let known: Set<String> = [
        "$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "required", "properties",
        "additionalProperties", "items", "minItems", "maxItems", "minimum", "maximum", "pattern", "minLength",
    ]

    public init(_ data: Data) throws {
        root = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    /// Every way in which the document does not fit, with its place.
    public func faults(in data: Data) throws -> [String] {
        var faults: [String] = []
        check(try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed), root, "$", &faults)
        return faults
    }

    private func check(_ value: Any, _ schema: [String: Any], _ place: String, _ faults: inout [String]) {
        for keyword in schema.keys where !Self.known.contains(keyword) {
            faults.append("\(place): the schema uses \(keyword)")
        }
        if let reference = schema["$ref"] as? String {
            let definitions = root["$defs"] as? [String: Any] ?? [:]
            guard let target = definitions[String(reference.dropFirst("#/$defs/".count))] as? [String: Any] else {
                faults.append("\(place): the schema has no \(reference)")
                return
            }
            check(value, target, place, &faults)
        }
        if let types = schema["type"] as? [String] ?? (schema["type"] as? String).map({ [$0] }),
            !types.contains(where: { has(value, type: $0) })
        {
            faults.append("\(place): is not \(types.joined(separator: " or "))")
            return
        }
        if let constant = schema["const"], !same(value, constant) { faults.append("\(place): is not \(constant)") }
        if let choices = schema["enum"] as? [Any], !choices.contains(where: { same(value, $0) }) {
            faults.append("\(place): is none of \(choices)")
        }
        if let object = value as? [String: Any] { checkObject(object, schema, place, &faults) }
        if let array = value as? [Any] { checkArray(array, schema, place, &faults) }
        if let text = value as? String {
            if let pattern = schema["pattern"] as? String, text.range(of: pattern, options: .regularExpression) == nil {
                faults.append("\(place): \(text) does not fit \(pattern)")
            }
            if let least = schema["minLength"] as? Int, text.count < least { faults.append("\(place): is too short") }
        }
        if let number = value as? NSNumber, !isBoolean(value) {
            if let least = schema["minimum"] as? Double, number.doubleValue < least {
                faults.append("\(place): is below \(least)")
            }
            if let most = schema["maximum"] as? Double, number.doubleValue > most {
                faults.append("\(place): is above \(most)")
            }
        }
    }

    private func checkObject(
        _ object: [String: Any],
        _ schema: [String: Any],
        _ place: String,
        _ faults: inout [String]
    ) {
        for key in schema["required"] as? [String] ?? [] where object[key] == nil {
            faults.append("\(place): has no \(key)")
        }
        let properties = schema["properties"] as? [String: Any] ?? [:]
        for (key, inner) in object {
            if let expected = properties[key] as? [String: Any] {
                check(inner, expected, "\(place).\(key)", &faults)
            } else if let others = schema["additionalProperties"] as? [String: Any] {
                check(inner, others, "\(place).\(key)", &faults)
            } else if schema["additionalProperties"] as? Bool == false {
                faults.append("\(place): \(key) is not expected")
            }
        }
    }

    private func checkArray(_ array: [Any], _ schema: [String: Any], _ place: String, _ faults: inout [String]) {
        if let least = schema["minItems"] as? Int, array.count < least {
            faults.append("\(place): has too few elements")
        }
        if let most = schema["maxItems"] as? Int, array.count > most {
            faults.append("\(place): has too many elements")
        }
        guard let items = schema["items"] as? [String: Any] else { return }
        for (index, element) in array.enumerated() { check(element, items, "\(place)[\(index)]", &faults) }
    }

    private func isBoolean(_ value: Any) -> Bool {
        value is Bool && !(value is Int && "\(value)" != "true" && "\(value)" != "false")
    }

    private func has(_ value: Any, type: String) -> Bool {
        switch type {
        case "null": value is NSNull
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "number": value is NSNumber
        case "integer": (value as? NSNumber).map { $0.doubleValue.rounded() == $0.doubleValue } ?? false
        case "boolean": value is Bool
        default: false
        }
    }

    private func same(_ a: Any, _ b: Any) -> Bool {
        switch (a, b) {
        case (let a as String, let b as String): a == b
        case (let a as NSNumber, let b as NSNumber): a == b
        case (is NSNull, is NSNull): true
        default: false
        }
    }
}
