import NocturneJournal
import NocturnePictures
import NocturneRecipeSupport

/// The pictures of a volume that a result may have.
enum PictureFiles {
    static let preview = "preview.png"

    /// Alternative texts by file, in the order in which they are shown.
    /// - Parameters:
    ///   - preview: that of the preview.
    ///   - labels: whether slices have outlines.
    static func titles(preview: String, labels: Bool) -> KeyValuePairs<String, String> {
        let outlines = labels ? " with the outlines of the labels" : ""
        return [
            Self.preview: preview,
            SliceWriter.file(nil): "All slices\(outlines), one after another",
            SliceWriter.file(.axial): "All axial slices\(outlines), one after another",
            SliceWriter.file(.coronal): "All coronal slices\(outlines), one after another",
            SliceWriter.file(.sagittal): "All sagittal slices\(outlines), one after another",
            RegionPicture.file: "The measured regions of interest with their figures, each in the plane that shows it",
            RenderingWriter.stillFile:
                "The volume as if one looked into it, from the front and from the patient's left side",
            RenderingWriter.turnFile: "The volume as if one looked into it, turning round the patient's long axis",
        ]
    }
}

extension ReviewParts {
    /// What the page shows of a volume: nothing if the batch was started without pictures for it.
    /// - Parameters:
    ///   - options: of the result.
    ///   - titles: alternative texts of its pictures.
    init(volumeWith files: [ItemFile], options: [String: String], titles: KeyValuePairs<String, String>) {
        let isShown = options["review"] != ReviewContent.none.rawValue
        self.init(.volume, files: isShown ? files : [], titles: titles)
    }
}

extension ItemInspection {
    /// Checks every picture of a volume that the result lists.
    mutating func inspectPictures() throws {
        for (file, _) in PictureFiles.titles(preview: "", labels: false) { try inspectPicture(file) }
    }
}
