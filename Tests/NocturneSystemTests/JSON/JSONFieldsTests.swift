import NocturneSystem
import Testing

@Suite("Members of JSON objects that people write")
struct JSONFieldsTests {
    private func numbers(_ list: String) throws -> [Double] {
        let fields = try JSONFields(parsing: Array("{\"spacing\": \(list)}".utf8))
        return try fields.numbers(fields.value("spacing"), "spacing", count: 3, in: 0...100)
    }

    @Test(
        "A list of numbers is refused with the entry that is none, or is outside the range",
        arguments: [
            ("[1, 2]", "spacing", "is not 3 numbers"), ("7", "spacing", "is not 3 numbers"),
            ("[1, \"2\", 3]", "spacing[1]", "is not a number"),
            ("[1, 2, 101]", "spacing[2]", "is 101.0, not from 0.0 to 100.0"),
        ]
    )
    func refused(list: String, field: String, detail: String) {
        let fault = #expect(throws: JSONFields.Fault.self) { try numbers(list) }
        #expect(fault?.field == field && fault?.detail == detail, "\(fault?.detail ?? "")")
    }

    @Test("A list of as many numbers within the range is read")
    func read() throws {
        #expect(try numbers("[0, 2.5, 100]") == [0, 2.5, 100])
    }
}
