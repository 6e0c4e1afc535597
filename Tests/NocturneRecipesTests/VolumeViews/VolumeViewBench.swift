import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes

/// Runs over volumes without a model.
struct VolumeViewBench {
    /// Writes the volumes.
    let volumes: IsosurfaceBench
    var batch: BatchBench { volumes.batch }

    init() throws { volumes = try IsosurfaceBench() }

    init(batch: BatchBench) { volumes = IsosurfaceBench(batch: batch) }

    static func options(_ given: [String: String]) throws -> VolumeViewOptions {
        try VolumeViewOptions(given: given.merging(["view": "yes"]) { $1 })
    }

    @discardableResult
    func run(_ given: [String: String] = [:], output: OutputFolder? = nil, threads: Int = 2) async throws
        -> BatchOutcome
    {
        let options = try Self.options(given)
        let settings = try BatchOptions(
            options.recorded,
            inputs: [batch.input],
            output: output ?? batch.output,
            threads: threads
        )
        return try await settings.run([try VolumeViews(options: options)])
    }

    func result(_ item: String, _ output: OutputFolder? = nil) throws -> [String: Any] {
        let url = URL(fileURLWithPath: (output ?? batch.output).item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
    }

    /// Equal for equal values.
    static func text(_ value: [[String: Any]]) throws -> Data {
        try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys])
    }

    func files(_ item: String) throws -> [String] {
        (try result(item)["files"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String }
    }

    /// What the schema finds wrong.
    func faults(_ item: String) throws -> [String] {
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/view-result.schema.json")
        let url = URL(fileURLWithPath: batch.output.item(item) + "/result.json")
        return try JSONSchema(Data(contentsOf: schema)).faults(in: Data(contentsOf: url))
    }

    func discovered(_ given: [String: String] = [:]) throws -> [DiscoveredItem] {
        try VolumeViews(options: Self.options(given)).search(DiscoveryRequest(inputs: [batch.input])).items
    }
}
