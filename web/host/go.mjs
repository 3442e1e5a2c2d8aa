// The root of a host leads to the newest version, with the plan in the address.
location.replace(`latest/${location.search}${location.hash}`);
