import NocturneBatch
import NocturneJournal
import NocturneOutput
import Testing

@Suite("Results that leave a batch")
struct WithdrawnResultsTests {
    private func withdrawn(withUnselected: Bool = false) -> WithdrawnResults {
        var description = BatchDescription(
            version: "1",
            models: [.init(id: "organs", name: "", version: "1", digest: "")],
            options: [:],
            inputs: ["/in/a", "/in/b.nii"],
            modelPaths: []
        )
        description.recipes = ["volume-segmentation", "isosurface"]
        return WithdrawnResults(description, withUnselected: withUnselected)
    }

    private func result(_ path: String, _ model: String = "organs", isReplaced: Bool = false) -> AbsentResult {
        AbsentResult(id: 1, path: path, firstFile: path, model: model, name: "x", isReplaced: isReplaced)
    }

    @Test(
        "are those of an input or a model that is not given; those of files that were deleted stay",
        arguments: [
            ("/in/a/x.nii", "organs", false), ("/in/a", "organs", false), ("/in/b.nii", "organs", false),
            // A recipe without a model.
            ("/in/a/x.nii", "isosurface", false),
            ("/in/ab/x.nii", "organs", true), ("/in/b.nii.gz", "organs", true), ("/other.nii", "organs", true),
            ("/in/a/x.nii", "bones", true), ("/in/a/x.nii", "existing-labels", true),
        ]
    )
    func given(path: String, model: String, isWithdrawn: Bool) {
        #expect(withdrawn().contains(result(path, model)) { _ in true } == isWithdrawn)
        #expect(withdrawn(withUnselected: true).contains(result(path, model)) { _ in false } == isWithdrawn)
    }

    @Test("are those of files that are there and are no longer selected, once the selection has changed")
    func unselected() {
        #expect(withdrawn(withUnselected: true).contains(result("/in/a/x.nii")) { $0 == "/in/a/x.nii" })
    }

    @Test("are those whose files other items are made of")
    func replaced() {
        #expect(withdrawn().contains(result("/in/a/x.nii", isReplaced: true)) { _ in true })
    }
}
