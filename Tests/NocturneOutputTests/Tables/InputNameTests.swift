import NocturneOutput
import Testing

@Suite("Names of inputs in tables")
struct InputNameTests {
    @Test("An input is named by its path, the ends of it, its item and its file name, with and without extension")
    func names() {
        #expect(
            NamedTable.inputNames(of: "/d/h/a.nii.gz", item: "h_a") == [
                "/d/h/a.nii.gz", "/d/h/a", "d/h/a.nii.gz", "d/h/a", "h/a.nii.gz", "h/a", "h_a", "a.nii.gz", "a",
            ]
        )
        #expect(NamedTable.inputNames(of: "a.png", item: "a") == ["a.png", "a"])
        #expect(NamedTable.inputNames(of: "/d/a", item: "a") == ["/d/a", "d/a", "a"])
        #expect(NamedTable.inputNames(of: "").isEmpty)
        let decomposed = "e\u{301}"
        #expect(
            NamedTable.inputNames(of: "/\(decomposed).x/\(decomposed).\(decomposed)") == [
                "/é.x/é.é", "/é.x/é", "é.x/é.é", "é.x/é", "é.é", "é",
            ]
        )
        #expect(NamedTable.inputName("././v1/a") == "v1/a")
    }

    @Test(
        "Only the extension is left out",
        arguments: [
            "P1.jpg": "P1", "P1.2.jpg": "P1.2", "P1.2": "P1.2", "d.x/P1": "d.x/P1", "d.x/P1.TIFF": "d.x/P1",
            "a.NII.gz": "a", "a.b.hdr.gz": "a.b", "a.tar.gz": "a.tar", ".png": ".png", "a.": "a.", "1.2.840": "1.2.840",
        ]
    )
    func extensions(_ name: String, _ stem: String) {
        #expect(NamedTable.withoutExtension(name) == stem)
    }

    @Test("What a row could mean is told apart by the shortest ends of the paths")
    func ambiguous() {
        let uses = ["/d/v1/a.jpg", "/d/v2/a.jpg", "/d/v2/a.png", "/d/v2/a.png"].map { (name: "a", path: $0) }
        #expect(NamedTable.ambiguousNames(uses) == ["a": "v1/a.jpg, v2/a.jpg, a.png"])
        #expect(NamedTable.ambiguousNames([uses[3], uses[3], (name: "b", path: "/d/v1/a.jpg")]).isEmpty)
        // One path is the end of the other.
        #expect(
            NamedTable.ambiguousNames(["/x/a", "/d/x/a"].map { (name: "a", path: $0) }) == ["a": "d/x/a, /x/a"]
        )
        let many = (0..<6).map { (name: "a", path: "/\($0)/a") }
        #expect(NamedTable.ambiguousNames(many) == ["a": "0/a, 1/a, 2/a, 3/a and 2 more"])
    }
}
