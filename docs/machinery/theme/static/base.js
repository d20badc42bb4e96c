// Where the site begins, seen from the page; ProperDocs' search asks for it by this name.
var base_url = ".";
