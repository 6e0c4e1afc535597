/// What `nocturne` alone prints: what can be done next, here.
struct FirstSteps {
    let version: String
    /// On the search path.
    let models: [String]
    /// In the current folder.
    let batches: [String]

    var text: String {
        (["Nocturne \(version). Research software: not a medical device, not for diagnosis or treatment."] + modelLines
            + [Terminal.table(steps.map { ["  " + $0.0, $0.1] })] + batchLines
            + ["", "All commands: nocturne --help"]).joined(separator: "\n")
    }

    private var modelLines: [String] {
        guard !models.isEmpty else {
            return ["", "No model package is on the search path: set NOCTURNE_MODELS, or give --model a folder.", ""]
        }
        let more = models.count > 6 ? ", …" : ""
        return ["", "Models: \(models.prefix(6).joined(separator: ", "))\(more)", ""]
    }

    private var steps: [(String, String)] {
        let model = models.count == 1 ? "" : " --model \(models.first ?? "FOLDER")"
        return [
            ("nocturne doctor", "check this machine"),
            ("nocturne inspect INPUTS", "see which volumes and photos a folder has"),
            ("nocturne plan INPUTS\(model)", "see items, memory and time, without processing"),
            ("nocturne run INPUTS\(model) --output OUT", "process them; the same command continues a batch"),
        ]
    }

    private var batchLines: [String] {
        guard !batches.isEmpty else { return [] }
        let more = batches.count > 5 ? ["  … and \(batches.count - 5) more"] : []
        return ["", "Batches in this folder:"] + batches.prefix(5).map { "  nocturne status \(quoted($0))" } + more
    }

    /// As a shell needs it.
    private func quoted(_ path: String) -> String {
        let isPlain = path.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || "0123456789._-/".unicodeScalars.contains($0)
        }
        return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
    }
}
