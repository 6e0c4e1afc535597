import NocturneOutput
package import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// The review page of a batch: `index.html`, and its scripts and data in `review/`.
///
/// The page is static. It is opened from files, so the data are classic scripts: those may be loaded where `fetch` may not.
/// Items are in files of ``BatchReport/itemsPerPart`` each. A file is written again only if its content has changed, so the
/// cost of a report after one more item does not grow with the size of all other results.
package struct ReviewPage: BatchPage {
    /// What to show of the result with this `result.json`; nil if nothing is known about its kind.
    package typealias Reader = @Sendable (_ result: [UInt8]) -> ReviewParts?

    private let reader: Reader

    /// - Parameter reader: reads the parts of a result that the page shows; the recipe decides which.
    package init(_ reader: @escaping Reader) { self.reader = reader }

    /// Writes the scripts, and prepares the data files that follow part by part.
    package func begin(_ batch: ReportedBatch, flag: CancellationFlag) throws -> any BatchPageParts {
        let folder = batch.output.reviewFolder
        try FileSystem.makeFolder(folder)
        try FileSystem.makeFolder(folder + "/data")
        for (name, bytes) in Self.scripts { try Self.replace(folder + "/" + name, with: bytes) }
        // 5 MB, which only volumes need.
        let showsVolumes = batch.report.description.options["review"] == "volumes"
        for (name, path) in showsVolumes ? Self.viewer : [] {
            try Self.replace(folder + "/" + name, with: try FileSystem.read(path))
        }
        return Parts(batch, reader: reader, flag: flag)
    }

    static func fileName(_ number: Int, of kind: String = "items") -> String {
        let digits = String(number)
        return kind + "-" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + ".js"
    }

    /// A call of a function of the page with one value.
    static func script(_ function: String, _ value: some Encodable, prefix: String = "") throws -> [UInt8] {
        Array("\(function)(\(prefix)".utf8) + (try StableJSON.encodeLine(value)).filter { $0 != 10 }
            + Array(");\n".utf8)
    }

    /// Leaves a file that has this content already.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        if (try? FileSystem.read(path)) == bytes { return }
        try FileSystem.replace(path, with: bytes, flush: false)
    }
}
