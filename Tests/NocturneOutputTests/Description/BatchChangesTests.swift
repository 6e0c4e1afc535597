import NocturneOutput
import Testing

@Suite("What a run changes in a batch")
struct BatchChangesTests {
    private func description(models: [String] = [], options: [String: String] = [:]) -> BatchDescription {
        BatchDescription(
            version: "1",
            models: models.map { BatchDescription.Model(id: $0, name: $0, version: "1", digest: "abc") },
            options: options,
            inputs: ["/in"],
            modelPaths: []
        )
    }

    @Test(
        "names the models that are no longer given",
        arguments: [
            (["a"], "the batch's model b is not given (to add models, give all)"),
            ([], "the batch's models a, b are not given (to add models, give all)"),
        ]
    )
    func models(given: [String], text: String) {
        let changes = description(models: given).changes(from: description(models: ["a", "b"]))
        #expect(changes.differences == [text] && changes.additions.isEmpty)
    }

    @Test("names files that options give by their paths, not by their digests")
    func files() {
        func changes(_ earlier: [String: String], _ now: [String: String]) -> [String] {
            description(options: now).changes(from: description(options: earlier)).differences
        }
        let (first, second) = (["rois": "d1", "rois-path": "/a.json"], ["rois": "d2", "rois-path": "/b.json"])
        #expect(changes([:], first) == ["--rois was not given, now /a.json"])
        #expect(changes(first, [:]) == ["--rois was /a.json, now not given"])
        #expect(changes(first, second) == ["--rois was /a.json, now /b.json"])
        let edited = ["rois": "d2", "rois-path": "/a.json"]
        #expect(changes(first, edited) == ["the file of --rois, /a.json, has changed"])
        #expect(changes(first, first).isEmpty)
        #expect(changes(["view": "yes"], [:]) == ["--view was yes, now not given"])
    }

    @Test("a second version of a model is an addition, and taking it out again a difference")
    func versions() {
        var both = description(models: ["a@1", "a@2"])
        both.models[1].digest = "def"
        let one = description(models: ["a"])
        #expect(both.changes(from: one).all == ["new model: a@2"])
        #expect(one.changes(from: both).all == ["the batch's model a@2 is not given (to add models, give all)"])
    }
}
