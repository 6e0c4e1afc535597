import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization
import Testing

@Suite("What headers of volumes lead to")
struct HeaderFactsTests {
    /// Makes `in/name.hdr` and `in/name.img` of a NIfTI-1 file without extensions.
    private func addPair(_ name: String, of bytes: [UInt8], to bench: BatchBench) throws {
        var header = Array(bytes[..<352])
        header.replaceSubrange(344..<348, with: Array("ni1\0".utf8))
        header.replaceSubrange(108..<112, with: [0, 0, 0, 0])
        try bench.folder.write(header, to: "in/\(name).hdr")
        try bench.folder.write(Array(bytes[352...]), to: "in/\(name).img")
    }

    /// The bytes of a box whose file is gone.
    private func box(_ bench: BatchBench, at lower: Int) throws -> [UInt8] {
        let url = try bench.addBox("box.nii", at: lower)
        let bytes = Array(try Data(contentsOf: url))
        try FileManager.default.removeItem(at: url)
        return bytes
    }

    private func items(_ bench: BatchBench) throws -> [DiscoveredItem] {
        try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).items
    }

    private func put(_ value: Float, at offset: Int, _ bytes: inout [UInt8]) {
        for index in 0..<4 { bytes[offset + index] = UInt8(value.bitPattern >> (8 * index) & 255) }
    }

    // MARK: Pairs

    @Test("A pair is done again when only its image changed, and only then")
    func pair() async throws {
        let bench = try BatchBench()
        try addPair("pair", of: box(bench, at: 4), to: bench)
        #expect(try await bench.run().counts.completed == 1)
        let before = try bench.tree()
        let started = Mutex([String]())
        let note: @Sendable (BatchEvent, RunControl) -> Void = { event, _ in
            if event.event == .itemStarted, let item = event.item { started.withLock { $0.append(item) } }
        }
        try await bench.run(observe: note)
        #expect(started.withLock { $0 } == [])
        try bench.folder.write(Array(try box(bench, at: 6)[352...]), to: "in/pair.img")
        let outcome = try await bench.run(observe: note)
        #expect(started.withLock { $0 } == ["pair"])
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)
        #expect(try bench.tree()["pair/segmentation.nii.gz"] != before["pair/segmentation.nii.gz"])
    }

    @Test("Of pairs that are channels of one case, every image is watched")
    func channelPairs() throws {
        let bench = try BatchBench(model: "NNUNet/models/M")
        for channel in ["0000", "0001"] {
            try addPair("case_\(channel)", of: Fixtures.bytes("NNUNet/volumes/M_\(channel).nii"), to: bench)
        }
        let before = try #require(try items(bench).first)
        #expect(before.problem == nil)
        let names = before.inputs.map { ($0.path as NSString).lastPathComponent }
        #expect(names.sorted() == ["case_0000.hdr", "case_0000.img", "case_0001.hdr", "case_0001.img"])
        let image = bench.folder("in/case_0001.img")
        var bytes = Array(try Data(contentsOf: image))
        bytes[bytes.count / 2] ^= 1
        try Data(bytes).write(to: image)
        let after = try #require(try items(bench).first)
        #expect(after.key == before.key && after.fingerprint != before.fingerprint)
    }

    // MARK: Channels

    @Test("Channels of one case are put together, however many files lie between them")
    func channelsFarApart() throws {
        let bench = try BatchBench(model: "NNUNet/models/M")
        for channel in ["0000", "0001"] {
            try bench.folder.write(Fixtures.bytes("NNUNet/volumes/M_\(channel).nii"), to: "in/case_\(channel).nii")
        }
        // More than are read together; they begin with what both channels begin with.
        for number in 0..<2500 { try bench.folder.write("x", to: "in/case_0000x\(number).nii") }
        let found = try items(bench)
        #expect(found.count == 2501)
        let good = found.filter { $0.problem == nil }
        #expect(good.map(\.name) == ["case"] && good.first?.inputs.count == 2)
        #expect(found.first?.name == "case" && found.map(\.path) == found.map(\.path).sorted())
    }

    /// The notes of a source, as the journal has them.
    private struct Noted: Decodable {
        var notes: [Note]?
    }

    @Test(
        "Channels that lie elsewhere are refused with the figures; up to half a voxel is a note, rounding is nothing",
        arguments: [
            (292, 0.4, nil), (292, 0.5, nil), (292, 0.002, nil),
            (292, 0.6, "by 0.6 voxels"), (324, -7, "by 7.0 voxels"),
            (280, 1, "its axis i at 180.0° to that of the first"), (284, 0.01, "its axis j at"), (284, 0.0005, nil),
        ] as [(Int, Float, String?)]
    )
    func channelsElsewhere(offset: Int, value: Float, fact: String?) throws {
        let bench = try BatchBench(model: "NNUNet/models/M")
        try bench.folder.write(Fixtures.bytes("NNUNet/volumes/M_0000.nii"), to: "in/case_0000.nii")
        var other = try Fixtures.bytes("NNUNet/volumes/M_0001.nii")
        put(value, at: offset, &other)
        try bench.folder.write(other, to: "in/case_0001.nii")
        let found = try items(bench)
        #expect(found.count == 1)
        switch found.first?.problem {
        case nil:
            #expect(fact == nil)
            let note = "its voxels lie up to \(value) voxels away from those of the first channel"
            let source = try JSONDecoder().decode(Noted.self, from: Data(#require(found.first).source.utf8))
            let isNoted = source.notes.map(\.texts)?.contains { $0.contains(note) } ?? false
            #expect(isNoted == (offset == 292 && value > 0.01))
        case .refused(let words):
            let wanted = try #require(fact, "\(words)")
            #expect(
                words.text.contains(wanted) && words.text.contains("“case_0001.nii”")
                    && words.text.contains("on one grid")
            )
        case let other?: Issue.record("\(other)")
        }
    }

    // MARK: Forms

    @Test("A q-form that contradicts the s-form is told in the result and in the account")
    func forms() async throws {
        let bench = try BatchBench()
        let url = try bench.addBox("shifted.nii")
        try bench.addBox("sound.nii")
        var bytes = Array(try Data(contentsOf: url))
        // The first coordinate of the q-form's origin.
        put(5, at: 268, &bytes)
        try Data(bytes).write(to: url)
        #expect(try await bench.run().counts.completed == 2)
        let note = "q-form and s-form disagree; the s-form is used"
        let records = try await Journal.with(path: bench.output.journal) { try await $0.records(after: 0, limit: 9) }
        for (item, product) in records.map({ ($0.item, $0.product) }) {
            let isShifted = item.name == "shifted"
            #expect(product.notes.texts.contains(note) == isShifted)
            let result = try String(contentsOfFile: bench.output.item(item.name) + "/result.json", encoding: .utf8)
            #expect(result.contains(note) == isShifted)
        }
        #expect(try String(contentsOfFile: bench.output.report, encoding: .utf8).contains(note))
    }
}
