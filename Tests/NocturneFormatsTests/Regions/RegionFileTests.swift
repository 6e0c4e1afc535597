import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Files of regions")
struct RegionFileTests {
    private func file(_ regions: String, space: String = "patientLps") -> String {
        "{\"schemaVersion\": 1, \"space\": \"\(space)\", \"regions\": [\(regions)]}"
    }

    private func read(_ text: String) throws(RegionFileError) -> RegionFile {
        try RegionFile(Array(text.utf8), path: "some/rois.json")
    }

    @Test("Every kind is read, with its plane, histogram and items")
    func kinds() throws {
        let found = try read(
            file(
                #"""
                {"name": "a", "kind": "length", "points": [[0, 0, 0], [1, 2, 3.5]]},
                {"name": "b", "kind": "angle", "points": [[1, 0, 0], [0, 0, 0], [0, 1, 0]], "items": ["case*", "x/y"]},
                {"name": "c", "kind": "circle", "center": [1, 2, 3], "radiusMm": 4, "plane": {"axis": "axial"}},
                {"name": "d", "kind": "ellipse", "center": [1, 2, 3], "radiiMm": [4, 5], "rotationDegrees": 30,
                 "plane": {"axis": "k", "index": 7}},
                {"name": "e", "kind": "rectangle", "center": [1, 2, 3], "sizeMm": [4, 5],
                 "plane": {"normal": [0, 0, 1], "point": [0, 0, 2], "right": [1, 0, 0], "spacingMm": 0.5}},
                {"name": "f", "kind": "polygon", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "plane": {"axis": "i"}},
                {"name": "g", "kind": "sphere", "center": [1, 2, 3], "radiusMm": 9,
                 "histogram": {"bins": 5, "range": [-10, 10]}},
                {"name": "h", "kind": "box", "lower": [0, 0, 0], "upper": [1, 1, 1]}
                """#
            )
        )
        #expect(
            found.entries.map(\.region.shape.kind).sorted() == [
                "angle", "box", "circle", "ellipse", "length", "polygon", "rectangle", "sphere",
            ]
        )
        #expect(found.entries[0].region.shape == .length([.zero, SIMD3(1, 2, 3.5)]))
        #expect(found.entries[0].region.space == .patientLps && found.entries[0].items == nil)
        #expect(found.entries[1].items == ["case*", "x/y"])
        #expect(
            found.entries[3].region.shape
                == .ellipse(
                    center: SIMD3(1, 2, 3),
                    radii: SIMD2(4, 5),
                    rotation: 30,
                    .slice(across: .k, index: 7)
                )
        )
        let plane = RegionOfInterest.Plane.oblique(
            normal: SIMD3(0, 0, 1),
            point: SIMD3(0, 0, 2),
            right: SIMD3(1, 0, 0),
            spacing: 0.5
        )
        #expect(
            found.entries[4].region.shape
                == .rectangle(center: SIMD3(1, 2, 3), size: SIMD2(4, 5), rotation: 0, plane)
        )
        #expect(found.entries[6].region.histogram == .init(bins: 5, range: -10...10))
        #expect(found.entries[7].region.histogram == .standard)
    }

    /// A region with a fault, and what has to be said.
    static let faults: [(String, String)] = [
        (#"{"kind": "sphere"}"#, "regions[0].name is missing"),
        (#"{"name": "", "kind": "sphere"}"#, "regions[0].name is empty"),
        (#"{"name": "n", "kind": "cone"}"#, "regions[0].kind (\"n\") is \"cone\", not one of"),
        (#"{"name": "n", "kind": "sphere", "center": [1, 2]}"#, "regions[0].center (\"n\") is not 3 numbers"),
        (#"{"name": "n", "kind": "sphere", "center": [1, 2, "3"]}"#, "regions[0].center[2] (\"n\") is not a number"),
        (#"{"name": "n", "kind": "sphere", "center": [1, 2, true]}"#, "regions[0].center[2] (\"n\") is not a number"),
        (#"{"name": "n", "kind": "sphere", "center": [1, 2, 1e300]}"#, "regions[0].center[2] (\"n\") is 1e+300"),
        (#"{"name": "n", "kind": "sphere", "center": [1, 2, 3]}"#, "regions[0].radiusMm (\"n\") is missing"),
        (
            #"{"name": "n", "kind": "sphere", "center": [1, 2, 3], "radiusMm": 0}"#,
            "regions[0].radiusMm (\"n\") is 0.0"
        ),
        (
            #"{"name": "n", "kind": "sphere", "center": [1, 2, 3], "radiusMm": -2}"#,
            "radiusMm (\"n\") is -2.0, not from"
        ),
        (
            #"{"name": "n", "kind": "sphere", "center": [1, 2, 3], "radius": 2}"#,
            "regions[0].radius (\"n\") is unknown"
        ),
        (#"{"name": "n", "kind": "length", "points": [[1, 2, 3]]}"#, "regions[0].points (\"n\") has 1 points"),
        (
            #"{"name": "n", "kind": "length", "points": [[1, 2, 3], 4]}"#,
            "regions[0].points[1] (\"n\") is not 3 numbers"
        ),
        (#"{"name": "n", "kind": "angle", "points": [[0, 0, 0], [0, 0, 0], [1, 1, 1]]}"#, "arm of zero length"),
        (
            #"{"name": "n", "kind": "length", "points": [[1, 2, 3], [0, 0, 0]], "histogram": {}}"#,
            "histogram (\"n\") is unknown"
        ),
        (
            #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1}"#,
            "regions[0].plane (\"n\") is missing"
        ),
        (
            #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1, "plane": {"axis": "q"}}"#,
            "regions[0].plane.axis (\"n\") is \"q\", not one of i, j, k"
        ),
        (
            #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1, "plane": {"axis": "k", "index": 1.5}}"#,
            "regions[0].plane.index (\"n\") is 1.5, not an integer"
        ),
        (
            #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1, "plane": {"normal": [0, 0, 0]}}"#,
            "regions[0].plane.normal (\"n\") has no direction"
        ),
        (
            #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1, "plane": {"normal": [0, 0, 1], "axis": "k"}}"#,
            "regions[0].plane.axis (\"n\") is unknown"
        ),
        (
            #"{"name": "n", "kind": "box", "lower": [0, 0, 0], "upper": [1, 0, 1]}"#,
            "regions[0].upper (\"n\") is not above lower"
        ),
        (
            #"{"name": "n", "kind": "box", "lower": [0, 0, 0], "upper": [1, 1, 1], "items": []}"#,
            "regions[0].items (\"n\") has 0 patterns"
        ),
        (
            #"{"name": "n", "kind": "box", "lower": [0, 0, 0], "upper": [1, 1, 1], "histogram": {"bins": 0}}"#,
            "regions[0].histogram.bins (\"n\") is 0"
        ),
        (
            #"{"name": "n", "kind": "box", "lower": [0, 0, 0], "upper": [1, 1, 1], "histogram": {"range": [3, 3]}}"#,
            "regions[0].histogram.range (\"n\") is not ascending"
        ),
        ("7", "regions[0] is not an object"),
    ]

    @Test("A fault is told with file, region and field", arguments: faults)
    func fault(region: String, message: String) throws {
        let error = #expect(throws: RegionFileError.self) { _ = try read(file(region)) }
        let text = try #require(error).description
        #expect(text.hasPrefix("some/rois.json: ") && text.contains(message), "\(text)")
    }

    @Test("A fault of the file as a whole is told")
    func whole() throws {
        let box = #"{"name": "n", "kind": "box", "lower": [0, 0, 0], "upper": [1, 1, 1]}"#
        let oblique =
            #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1, "plane": {"normal": [0, 0, 1]}}"#
        let texts = [
            ("", "is not valid JSON"), ("{", "is not valid JSON"), ("[]", "is not an object"),
            ("{}", "schemaVersion is missing"),
            (#"{"schemaVersion": 2}"#, "schemaVersion is not 1"),
            (#"{"schemaVersion": 1, "space": "mm", "regions": []}"#, "space is \"mm\", not one of patientLps"),
            (#"{"schemaVersion": 1, "space": "voxel", "regions": {}}"#, "regions is not a list"),
            (#"{"schemaVersion": 1, "space": "voxel", "regions": [], "extra": 1}"#, "extra is unknown"),
            (file(box + "," + box), "regions[1].name (\"n\") is the name of another region"),
            (file(oblique, space: "voxel"), "plane.normal (\"n\") needs points in a patient space"),
            (String(repeating: "[", count: 100_000), "nested more than 128 deep"),
            (#"{"schemaVersion": 1, "schemaVersion": 1}"#, "the key schemaVersion twice"),
            (String(repeating: " ", count: RegionFile.maximumBytes + 1), "more than"),
            (
                file(Array(repeating: "0", count: RegionFile.maximumRegionCount + 1).joined(separator: ",")),
                "has 10001 regions"
            ),
        ]
        for (text, message) in texts {
            let error = #expect(throws: RegionFileError.self) { _ = try read(text) }
            #expect(error?.description.contains(message) == true, "\(error?.description ?? "") — \(text.prefix(80))")
        }
    }

    @Test("No shortened or damaged file does anything but throw or be read")
    func hostile() throws {
        let text = Array(
            file(
                #"{"name": "n", "kind": "circle", "center": [1, 2, 3], "radiusMm": 1.5, "plane": {"axis": "k"}}"#
            ).utf8
        )
        for count in 0..<text.count {
            #expect(throws: RegionFileError.self) { try RegionFile(Array(text[..<count]), path: "x") }
        }
        var dice = SplitMix64(seed: 3)
        var read = 0
        for _ in 0..<3000 {
            var damaged = text
            for _ in 0..<2 {
                damaged[Int.random(in: 0..<text.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
            }
            if (try? RegionFile(damaged, path: "x")) != nil { read += 1 }
        }
        #expect(read < 3000)
    }

    @Test("The sample fits its schema and is read")
    func sample() throws {
        let url = Checkout.folder.appendingPathComponent("Samples/regions.json")
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/regions.schema.json")
        let bytes = try Data(contentsOf: url)
        #expect(try JSONSchema(Data(contentsOf: schema)).faults(in: bytes) == [])
        let found = try RegionFile([UInt8](bytes), path: url.path)
        #expect(Set(found.entries.map(\.region.shape.kind)).count == 8)
        // Some editors put a byte order mark before the text.
        #expect(try RegionFile([0xEF, 0xBB, 0xBF] + bytes, path: url.path) == found)
    }
}
