import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneTestSupport
import Testing

@Suite("Metadata in files next to photos")
struct MetadataSidecarTests {
    @Test("A note states how many files next to pictures have no field that is read")
    func unusedSidecars() throws {
        let bench = try PhotoBench("primary-told")
        for name in ["a.png", "b.png", "c.png"] { try bench.add(name, SIMD3(80, 80, 80)) }
        try bench.folder.write("{\"age_approx\": 40}", to: "in/a.json")
        try bench.folder.write("{\"metadata\": {\"acquisition\": {\"pixels_x\": 40}}}", to: "in/b.json")
        let notes = try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).notes
        let fields = "age_approx, sex, anatom_site_general"
        let note = "1 JSON file next to a photo has none of the fields that are read: \(fields)"
        #expect(notes.contains(note), "\(notes)")
    }

    @Test("A file with the whole name of a picture is read first, and one that is not read is listed")
    func wholeNames() async throws {
        let bench = try PhotoBench("primary-told")
        for name in ["a.jpg", "b.jpg", "b.png"] { try bench.add(name, SIMD3(80, 80, 80)) }
        for (name, age) in [("a.jpg", 25), ("a", 50), ("b", 75), ("b.png", 100)] {
            try bench.folder.write("{\"age_approx\": \(age)}", to: "in/\(name).json")
        }
        #expect(try await bench.run().counts.completed == 3)
        let account = try await bench.account()
        #expect(account.values.count { $0.state == .skipped } == 1)
        let items = try await Journal.with(path: bench.output.journal) { try await $0.items() }
        for (file, age) in [("a.jpg", 25.0), ("b.jpg", 75), ("b.png", 100)] {
            let item = try #require(items.first { $0.path.hasSuffix("/" + file) })
            #expect(try bench.result(item.name).metadata?.ageYears == age, "\(file)")
        }
        #expect(items.contains { $0.state == .skipped && $0.path.hasSuffix("/a.json") })
    }
}
