import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// Makes an item of every volume in the inputs, for recipes without a model. Each channel of a case is a separate item.
struct PlainVolumeDiscovery<Options: RecipeOptions>: InputClaims {
    /// What recipes differ in.
    struct Rules {
        /// Used instead of the id of a model.
        let model: String
        /// What fingerprints begin with.
        let version: String
        let options: Options
        let inputs: VolumeInputOptions
        var regions = RegionOptions()
        /// Whether a single slice is a volume.
        var takesSlices = false
    }

    private let rules: Rules
    private let finder: VolumeFinder

    init(_ rules: Rules, _ request: DiscoveryRequest, _ files: InputFiles, scope: ComputeScope) {
        self.rules = rules
        // The finder takes the options of segmentations; of these, only the ones that concern reading are set.
        var reading = SegmentationOptions()
        (reading.inputs, reading.regions) = (rules.inputs, rules.regions)
        finder = VolumeFinder([], reading, request, files, scope: scope)
    }

    func claim(_ file: FoundFile) throws -> FileClaim { try finder.claim(file) }

    func soughtWords() -> [String: SoughtWords] { finder.soughtWords() }

    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
        let volumes = try finder.volumes(of: families, patients)
        let stamps = try FoundVolume.stamps(of: volumes, scope: finder.scope)
        for found in volumes {
            try items.add(item(found, found.allFiles.compactMap { stamps[$0.path] }, finder.request.identifiers))
        }
    }

    /// - Parameter stamps: of all files of the volume.
    private func item(
        _ found: FoundVolume,
        _ stamps: [FoundFile.Stamp],
        _ identifiers: IdentifierPolicy
    ) -> DiscoveredItem {
        let source = (try? found.volume.get()).map { found.source($0, model: rules.model, identifiers) }
        let optionTexts = rules.options.fingerprintTexts(of: source)
        // Of all files of the volume: a change of any of them makes the result again.
        let versions = stamps.map(\.text) + [found.ownStamp].compactMap(\.self)
        var item = DiscoveredItem(
            key: found.key,
            name: found.names(identifiers).itemName(found.name, key: found.key),
            model: rules.model,
            path: found.path,
            fingerprint: ContentDigest.of(
                ([rules.version, found.names(identifiers).fingerprint] + optionTexts + versions).joined(
                    separator: "\n"
                )
            ),
            inputs: stamps.map(\.input)
        )
        (item.words, item.suffix, item.order) = (found.words, found.suffix, found.order)
        item.headerNames = found.headerNames(identifiers)
        switch found.volume {
        case .failure(let problem): item.problem = problem
        case .success(let volume):
            let shape = volume.geometry.shape
            // Set aside rather than refused: the file is not damaged, the recipe only needs a third axis.
            if !rules.takesSlices, min(shape.x, shape.y, shape.z) < 2 {
                item.problem = .setAside(FoundVolume.singleSlice(shape))
            }
            if let source { item.record(source) }
        }
        return item
    }
}
